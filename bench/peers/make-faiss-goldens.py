"""Makes test/fixtures/retrieval/faiss/: flat indexes that faiss writes and what it finds in them.

Run once, by hand, and commit the result; nothing in the project needs Python afterwards. Needs faiss-cpu, numpy.

    ip.index, l2.index       200 random rows of 16 dimensions, the last ten like the first ten
    l1.index, idmap.index, ivf.index, hnsw.index   tiny ones of kinds that are refused
    golden.json              queries and the 50 best of each, by both metrics
"""

import json
import pathlib

import faiss
import numpy

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "test" / "fixtures" / "retrieval" / "faiss"


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    generator = numpy.random.default_rng(1)
    rows = generator.standard_normal((200, 16)).astype(numpy.float32)
    rows[190:] = rows[:10]
    queries = generator.standard_normal((5, 16)).astype(numpy.float32)
    golden = {"faiss": faiss.__version__, "queries": [[float(x) for x in query] for query in queries]}
    for name, index in {"ip": faiss.IndexFlatIP(16), "l2": faiss.IndexFlatL2(16)}.items():
        index.add(rows)
        faiss.write_index(index, str(FOLDER / f"{name}.index"))
        scores, found = index.search(queries, 50)
        golden[name] = {"rows": found.tolist(), "scores": scores.astype(float).round(5).tolist()}
    (FOLDER / "golden.json").write_text(json.dumps(golden) + "\n")

    few = numpy.ascontiguousarray(rows[:4, :4])
    for name, factory, metric in [("l1", "Flat", faiss.METRIC_L1), ("idmap", "IDMap,Flat", 1), ("ivf", "IVF1,Flat", 1), ("hnsw", "HNSW4", 1)]:
        index = faiss.index_factory(4, factory, metric)
        index.train(few)
        index.add_with_ids(few, numpy.arange(4)) if name == "idmap" else index.add(few)
        faiss.write_index(index, str(FOLDER / f"{name}.index"))


main()
