"""``python -m codegen.site SITE`` counts the public names that a built site lacks, or that have no docstring."""

import sys
from pathlib import Path

from . import public


def main(arguments: list[str] | None = None) -> int:
    """Run the command on the folder of a built site. Return 1 if any name lacks something."""
    (site,) = sys.argv[1:] if arguments is None else arguments
    listed = public.inventory(Path(site) / "objects.inv")
    gaps = {
        "without a docstring": [*public.undocumented(), *public.unexplained()],
        "missing from the reference": public.missing(listed),
        "of a class without a public name": public.hidden(),
    }
    members = sum("." in each.name for each in public.names())
    print(
        f"{len(public.names())} public names, {members} of them methods and properties of classes, inherited ones too"
    )
    print(f"{len(list(Path(site).rglob('*.html')))} pages")
    for what, found in gaps.items():
        print(f"public names {what}: {len(found)}", *found, sep="\n  ")
    return 1 if any(gaps.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
