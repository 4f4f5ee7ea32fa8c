"""Take the pages of the simulator, the schema and the scripts of the fleet into the program."""

from PyInstaller.utils.hooks import collect_data_files  # pyright: ignore[reportMissingModuleSource]

datas = collect_data_files("brokerage_async")
