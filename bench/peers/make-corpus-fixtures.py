"""Writes test/fixtures/retrieval: small corpora as pyarrow and zstandard (the reference implementations) write them.

    python bench/peers/make-corpus-fixtures.py        # needs pyarrow and zstandard

The files are committed: the tests need no Python. All texts are this project's own.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

folder = Path(__file__).parents[2] / "test/fixtures/retrieval"
folder.mkdir(parents=True, exist_ok=True)

titles = ["Harbour of Quill", "Lake Ardent", ""]
bodies = [
    "Quill is an invented town. Its harbour opened in 1902.",
    "Lake Ardent freezes every winter — even in Düne.",
    "A passage without a title.",
]
rows = range(7)
text = [f"{bodies[row % 3]} Row {row + 1}." for row in rows]
title = [titles[row % 3] for row in rows]


def parquet(name: str, table: dict, **options) -> None:
    pq.write_table(pa.table(table), folder / name, **options)


parquet(
    "snappy.parquet",  # ids beyond 2^53, three row groups, a column that is not read
    {
        "id": pa.array([2**53 + 1 + row for row in rows], pa.int64()),
        "title": title,
        "text": text,
        "embedding": [[0.5, float(row)] for row in rows],
    },
    row_group_size=3,
    compression="snappy",
)
parquet(
    "zstd.parquet",  # BEIR's names, two row groups, the text in large strings and pages of the second version
    {"_id": [f"d{row}" for row in rows], "text": pa.array(text, pa.large_string()), "title": title},
    row_group_size=4,
    compression="zstd",
    data_page_version="2.0",
    use_dictionary=False,
)
parquet(
    "gzip.parquet",  # Search-R1's contents
    {
        "docid": pa.array(rows, pa.int32()),
        "contents": [f'"{title[row]}"\n{text[row]}' if title[row] else text[row] for row in rows],
    },
    compression="gzip",
)
parquet(
    "holes.parquet",
    {"id": ["a", "b", None, "d"], "title": ["A", None, "C", "D"], "text": ["one", "two", "three", None]},
)
parquet("no-text.parquet", {"query": ["x"], "answer": ["y"]})
parquet("latin1.parquet", {"id": ["a", "b"], "text": pa.array([b"fine", b"D\xfcne"], pa.binary())})

lines = [
    b'{"id":1,"title":"Quill","text":"Quill is an invented town."}\n',
    b'{"id":2,"title":"Ardent","text":"Lake Ardent freezes."}\n',
]
zstd = zstandard.ZstdCompressor(level=19, write_checksum=True)
skippable = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"notes"
(folder / "two-frames.jsonl.zst").write_bytes(zstd.compress(lines[0]) + skippable + zstd.compress(lines[1]))

long = zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters(window_log=27, write_content_size=False))
stream = long.compressobj()
(folder / "long-window.jsonl.zst").write_bytes(stream.compress(lines[0]) + stream.flush())

trained = zstandard.train_dictionary(1024, [f"{line!r} {row}".encode() for row in range(400) for line in lines])
(folder / "dictionary.jsonl.zst").write_bytes(zstandard.ZstdCompressor(dict_data=trained).compress(lines[0]))
