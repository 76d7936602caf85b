from __future__ import annotations
from services.extractor.reader import Draft
def outline(language: str, data: bytes) -> list[Draft]:
    return []
def module_of(path: str) -> str:
    return path.rpartition(".")[0].replace("/", ".")
