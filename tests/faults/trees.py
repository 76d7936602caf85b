"""A small repository of several languages, the same on every machine."""

from __future__ import annotations

from pathlib import Path

_WORDS = [
    "order",
    "basket",
    "price",
    "customer",
    "invoice",
    "payment",
    "ledger",
    "refund",
    "shipment",
    "parcel",
    "stock",
    "audit",
]


def grow(root: Path, files: int = 240) -> Path:
    """Write `files` source files that refer to each other."""
    for number in range(files):
        first, second = _WORDS[number % 12], _WORDS[(number * 7 + 3) % 12]
        folder = root / first / second
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{first.title()}{second.title()}{number}"
        if number % 3 == 0:
            text = (
                f'"""Keeps the {first} of a {second}."""\n\nimport json\n\n\nclass {name}(Base):\n'
                f'    """The {first} number {number}."""\n\n'
                f"    def total_{first}(self, {second}):\n        return json.dumps({second}.{first}) * {number}\n"
            )
            (folder / f"{name.lower()}.py").write_text(text * 3)
        elif number % 3 == 1:
            text = f"export function {first}{number}({second}) {{\n  return {second}.{first}.map((x) => x + {number});\n}}\n"
            (folder / f"{name}.js").write_text(text * 4)
        else:
            (folder / f"{name}.md").write_text(
                f"# {first} and {second}\n\nHow the {first} meets the {second}, part {number}.\n"
            )
    (root / ".gitignore").write_text("*.log\n")
    return root
