"""sentence-transformers doing what `npm run bench -- embeddings` measures of our encoder: same weights and texts, f32, same threads.

Started by the benchmark with one JSON argument: {"model": FOLDER, "threads": 2}. A request {"texts": [...]} embeds them with the library's
own batches of 32, sorted by length; it is answered with {"seconds": [...], "peakMemoryBytes": ...}, and with {"vectors": [[...], ...]}
besides where the request has "vectors": true.
"""

import json
import os
import sys
import time

arguments = json.loads(sys.argv[1])
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(arguments["threads"])
os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"

import sentence_transformers
import torch
import transformers

from lines import Lines, peak_memory_bytes

lines = Lines()
torch.set_num_threads(arguments["threads"])
transformers.logging.set_verbosity_error()
model = sentence_transformers.SentenceTransformer(arguments["model"], device="cpu")
lines.send({"versions": {"python": sys.version.split()[0], "torch": torch.__version__, "transformers": transformers.__version__,
                         "sentence-transformers": sentence_transformers.__version__}})

while (request := lines.receive()) is not None:
    start = time.perf_counter()
    vectors = model.encode(request["texts"], prompt="", batch_size=32, show_progress_bar=False)
    answer = {"seconds": [time.perf_counter() - start], "peakMemoryBytes": peak_memory_bytes()}
    if request.get("vectors"):
        answer["vectors"] = vectors.tolist()
    lines.send(answer)
