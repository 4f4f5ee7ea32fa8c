"""Tables and data frames of models: Arrow, pandas and Polars (extras ``arrow``, ``pandas``, ``polars``).

Every column has the type of its field, so a table without rows has the same columns as one with rows.
"""

from .._decimals import Decimals
from .api import joined, require, schema_of, to_arrow, to_pandas, to_polars, write_parquet

__all__ = ["Decimals", "joined", "require", "schema_of", "to_arrow", "to_pandas", "to_polars", "write_parquet"]
