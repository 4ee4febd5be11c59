"""FAISS's indexes for `npm run bench -- retrieval --peer PYTHON`; the requests are those of bench/retrieval-worker.ts."""

import json
import os
import re
import sys
import time

import faiss
import numpy as np

from lines import Lines

BLOCK_ROWS = 8192


def peak_memory_bytes():
    """Peak resident memory of this process alone."""
    with open("/proc/self/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read()).group(1)) * 1024


def read_rows(files, begin, end):
    dimensions = files["dimensions"]
    values = np.fromfile(files["vectorFile"], np.float32, (end - begin) * dimensions, offset=begin * dimensions * 4)
    return values.reshape(-1, dimensions)


def make_index(kind, files):
    """The same partitions, code sizes, training and graph as ours (src/retrieval/indexing/lance-layout.ts)."""
    dimensions, rows = files["dimensions"], files["rows"]
    inner_product = faiss.METRIC_INNER_PRODUCT
    if kind == "flat":
        return faiss.IndexFlatIP(dimensions)
    if kind == "hnsw":
        index = faiss.IndexHNSWFlat(dimensions, 16, inner_product)
        index.hnsw.efConstruction = 150
        return index
    partitions = max(1, round(min(rows**0.5, rows / 128)))
    index = faiss.index_factory(dimensions, f"IVF{partitions},PQ{dimensions // 8}", inner_product)
    index.cp.niter = index.pq.cp.niter = 10
    sample = np.sort(np.random.default_rng(1).choice(rows, min(rows, 64 * max(partitions, 256)), replace=False))
    vectors = np.memmap(files["vectorFile"], np.float32, "r", shape=(rows, dimensions))
    index.train(np.ascontiguousarray(vectors[sample]))
    return index


def build(kind, files, path):
    started = time.perf_counter()
    index = make_index(kind, files)
    for begin in range(0, files["rows"], BLOCK_ROWS):
        index.add(read_rows(files, begin, min(files["rows"], begin + BLOCK_ROWS)))
    faiss.write_index(index, path)
    return {"seconds": time.perf_counter() - started}


def open_index(kind, path, files, effort):
    index = faiss.read_index(path)
    if kind == "ivf-pq":
        index.nprobe = effort.get("probes", max(8, round(index.nlist / 16)))
    if kind == "hnsw":
        index.hnsw.efSearch = effort.get("ef", 200)
    queries = np.fromfile(files["queryFile"], np.float32).reshape(-1, files["dimensions"])
    return index, queries


def choose_way(index, asked, top_k):
    """Several queries go through BLAS or through FAISS's own loops: whichever is faster here."""
    timed = []
    for threshold in (1, 1 << 30):
        faiss.cvar.distance_compute_blas_threshold = threshold
        index.search(asked, top_k)
        begin = time.perf_counter()
        index.search(asked, top_k)
        timed.append((time.perf_counter() - begin, threshold))
    faiss.cvar.distance_compute_blas_threshold = min(timed)[1]


def load(index, queries, top_k, clients, seconds):
    """What `clients` clients ask together goes into one call, which is FAISS's fastest way."""
    latencies, next_query = [], 0
    choose_way(index, queries[:clients], top_k)
    started = time.perf_counter()
    while time.perf_counter() - started < seconds:
        asked = queries[np.arange(next_query, next_query + clients) % len(queries)]
        next_query += clients
        begin = time.perf_counter()
        index.search(asked, top_k)
        latencies += [(time.perf_counter() - begin) * 1000] * clients
    return {"seconds": time.perf_counter() - started, "latencies": latencies}


def main():
    argument = json.loads(sys.argv[1])
    kind, files = argument["kind"], argument["files"]
    path = os.path.join(argument["folder"], "index.faiss")
    faiss.omp_set_num_threads(argument["threads"])
    lines = Lines()
    lines.send({"loadedMemoryBytes": peak_memory_bytes(), "faiss": faiss.__version__})
    opened = None
    while (request := lines.receive()) is not None:
        if request["task"] == "build":
            lines.send(build(kind, files, path))
            continue
        opened = opened or open_index(kind, path, files, argument["effort"])
        if request["task"] == "answers":
            answer = {"rows": opened[0].search(opened[1], request["topK"])[1].tolist()}
        else:
            answer = load(*opened, request["topK"], request["clients"], request["seconds"])
        lines.send({**answer, "peakMemoryBytes": peak_memory_bytes()})


if __name__ == "__main__":
    main()
