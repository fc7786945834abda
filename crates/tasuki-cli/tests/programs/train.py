"""train.py BACKEND: trains a small model in parallel; prints `weights` and a digest of them."""

import hashlib
import sys

import torch
import torch.distributed as dist
from torch import nn

if sys.argv[1] == "tasuki":
    import tasuki_torch  # noqa: F401, which makes the backend known

dist.init_process_group(sys.argv[1])
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 8))
parallel = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.1)
steps = torch.optim.SGD(parallel.parameters(), 0.1)
torch.manual_seed(100 + dist.get_rank())
for _ in range(20):
    steps.zero_grad()
    ((parallel(torch.randn(32, 64)) - torch.randn(32, 8)) ** 2).mean().backward()
    steps.step()
weights = b"".join(part.detach().numpy().tobytes() for part in model.parameters())
print("weights", hashlib.sha256(weights).hexdigest())
