"""Parquet files of models, group by group."""

from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from brokerage_async import models
from brokerage_async.arrow import schema_of, write_parquet
from brokerage_async.errors import ConfigurationError


def group(*amounts: str) -> tuple[list[str], list[models.Dividend]]:
    return list(amounts), [models.Dividend(amount=Decimal(amount)) for amount in amounts]


def test_file_has_a_row_group_for_each_group(tmp_path: Path) -> None:
    write_parquet(tmp_path / "a", lambda: [group("1", "2"), group("3")], models.Dividend)
    file = pq.ParquetFile(tmp_path / "a")
    assert (file.num_row_groups, file.metadata.num_rows) == (2, 3)
    assert file.schema_arrow == schema_of(models.Dividend, key=True)


def test_file_without_groups_has_the_schema(tmp_path: Path) -> None:
    write_parquet(tmp_path / "a", list, models.Dividend)
    assert pq.read_table(tmp_path / "a").schema == schema_of(models.Dividend, key=True)


def test_a_long_number_in_a_late_group_widens_the_whole_file(tmp_path: Path) -> None:
    write_parquet(tmp_path / "a", lambda: [group("1.5"), group("1E-30")], models.Dividend)
    assert pq.read_table(tmp_path / "a").column("amount").to_pylist() == [Decimal("1.5"), Decimal("1E-30")]


def test_a_number_that_fits_no_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"Dividend\.amount must fit decimal256"):
        write_parquet(tmp_path / "a", lambda: [group("1E+60")], models.Dividend)
