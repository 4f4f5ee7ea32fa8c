"""Generated endpoints: the arguments of the executor. The golden sample has their signatures and docstrings."""

from brokerage_async.operation import BoundCall
from tests.codegen.support import Package
from tests.vectors.exchange import Recorder


async def test_method_passes_arguments_by_wire_name(garden: Package) -> None:
    recorder = Recorder()
    beds = garden.endpoints.Endpoints(recorder).garden
    returned = [beds.plants(7, seasons=["Spring"]), await beds.list(), await beds.remove("7")]
    assert returned == recorder.calls
    new = garden.models.NewPlant(name="Rose", labels=[garden.models.NewLabel(text="red")])
    await beds.plant(7, new)
    await beds.edit_bed(7, season="Spring")
    operations = garden.operations
    edit = garden.models.BedEdit(season=garden.models.Season.SPRING)
    assert recorder.calls == [
        BoundCall(operations.GARDEN_PLANTS, path={"bed_number": 7}, query={"season[]": ["Spring"]}),
        BoundCall(operations.GARDEN_LIST),
        BoundCall(operations.GARDEN_REMOVE, path={"bed_number": "7"}),
        BoundCall(operations.GARDEN_PLANT, path={"bed_number": 7}, body=new),
        BoundCall(operations.GARDEN_EDIT_BED, path={"bed_number": 7}, body=edit),
    ]
    recorder.calls.clear()
    for given in (None, 5, "Spring", "Monsoon"):
        await beds.edit_bed(7, season=given)
    seasons = [call.body.season for call in recorder.calls]
    assert seasons == [None, 5, garden.models.Season.SPRING, "Monsoon"]
    assert [isinstance(season, garden.models.Season) for season in seasons] == [False, False, True, True]
