"""tensors.py BACKEND: collective operations of tensors beside what they must give; prints `tensors ok`."""

import datetime
import signal
import sys

import torch
import torch.distributed as dist

if sys.argv[1] == "tasuki":
    import tasuki_torch  # noqa: F401, which makes the backend known

dist.init_process_group(sys.argv[1])
rank, size = dist.get_rank(), dist.get_world_size()


def expect(what, found, wanted):
    if not torch.equal(found, wanted):
        sys.exit(f"rank {rank}: {what}: {found}, not {wanted}")


def parts(count):
    return [torch.full((count,), float(other)) for other in range(size)]


for count in [1, 7, 1000, 100_003, 1_000_000]:
    ramp = torch.arange(count)
    found = ramp * (rank + 1)
    dist.all_reduce(found)
    expect("all_reduce", found, ramp * (size * (size + 1) // 2))

    for kind in [torch.float16, torch.bfloat16, torch.float64, torch.uint8]:
        found = torch.full((count,), rank, dtype=kind)
        dist.all_reduce(found, op=dist.ReduceOp.MAX)
        expect(f"the greatest {kind}", found, torch.full((count,), size - 1, dtype=kind))
    found = torch.full((count,), rank == 0)
    dist.all_reduce(found)
    expect("whether any is true", found, torch.full((count,), True))

    found = torch.full((count, 2), rank).t()
    dist.broadcast(found, size - 1)
    expect("broadcast of what is not contiguous", found, torch.full((2, count), size - 1))

    found = [torch.empty(count) for _ in range(size)]
    dist.all_gather(found, torch.full((count,), float(rank)))
    expect("all_gather", torch.stack(found), torch.stack(parts(count)))

    found = torch.full((count,), float(rank + 1))
    dist.reduce(found, 0)
    expect("reduce", found, torch.full((count,), size * (size + 1) / 2 if rank == 0 else rank + 1.0))

    found = [torch.empty(count) for _ in range(size)] if rank == 0 else None
    dist.gather(torch.full((count,), float(rank)), found, 0)
    if rank == 0:
        expect("gather", torch.stack(found), torch.stack(parts(count)))

    found = torch.empty(count)
    dist.scatter(found, parts(count) if rank == 0 else None, 0)
    expect("scatter", found, torch.full((count,), float(rank)))

    found = torch.empty(count)
    dist.reduce_scatter(found, parts(count))
    expect("reduce_scatter", found, torch.full((count,), float(rank * size)))

    # In place, as ZeRO does it: parts of one tensor.
    whole = torch.arange(size * count) * (rank + 1)
    own = whole[rank * count:(rank + 1) * count]
    dist.reduce_scatter_tensor(own, whole)
    wanted = torch.arange(size * count) * (size * (size + 1) // 2)
    expect("reduce_scatter in place", own, wanted[rank * count:(rank + 1) * count])
    dist.all_gather_into_tensor(whole, own)
    expect("all_gather in place", whole, wanted)

    rows = torch.arange(size * count) + rank * size * count
    found = torch.empty_like(rows)
    dist.all_to_all_single(found, rows)
    wanted = [torch.arange(rank * count, (rank + 1) * count) + other * size * count for other in range(size)]
    expect("all_to_all_single", found, torch.cat(wanted))

    found = torch.empty(count)
    coming = dist.irecv(found, (rank - 1) % size, tag=3)
    dist.send(torch.full((count,), float(rank)), (rank + 1) % size, tag=3)
    coming.wait()
    expect("recv", found, torch.full((count,), float((rank - 1) % size)))

    under_way = [(dist.all_reduce(data, async_op=True), data) for data in parts(count)]
    for number, (work, data) in reversed(list(enumerate(under_way))):
        work.wait()
        expect("several at once", data, torch.full((count,), float(number * size)))

# Sends that nobody waits for.
for number in range(300):
    dist.isend(torch.tensor([number]), (rank + 1) % size)
for number in range(300):
    found = torch.empty(1, dtype=torch.int64)
    dist.recv(found, (rank - 1) % size)
    expect("recv of many", found, torch.tensor([number]))

# Futures are told in the order in which operations end. The first message comes last of all, and holds up
# neither the sum nor the other message; what is not told would be waited for until the group's timeout.
if sys.argv[1] == "tasuki":
    signal.alarm(240)
    found, total = [torch.empty(1), torch.empty(1)], torch.ones(1)
    if rank == 0:
        first, second = (dist.irecv(part, 1, tag=tag).get_future() for tag, part in enumerate(found, 10))
    dist.all_reduce(total, async_op=True).get_future().wait()
    expect("a sum told by its future", total, torch.tensor([float(size)]))
    if rank == 0:
        second.wait()
        dist.send(torch.ones(1), 1, tag=9)
        first.wait()
        expect("messages told by their futures", torch.cat(found), torch.tensor([10.0, 11.0]))
    elif rank == 1:
        dist.send(torch.tensor([11.0]), 0, tag=11)
        dist.recv(found[0], 0, tag=9)
        dist.send(torch.tensor([10.0]), 0, tag=10)
    signal.alarm(0)

# Parameters of a model, which have gradients.
found = torch.nn.Parameter(torch.full((3,), float(rank + 1)))
dist.reduce(found, 0)
wanted = size * (size + 1) / 2 if rank == 0 else rank + 1.0
expect("reduce of a parameter", found.data, torch.full((3,), wanted))
found = torch.nn.Parameter(torch.full((2, 3), float(rank)).t())
dist.broadcast(found, size - 1)
expect("broadcast to a parameter", found.data, torch.full((3, 2), size - 1.0))
found = [torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(3, 2))]
dist.all_reduce_coalesced(found)
expect("parameters together", found[1].data, torch.full((3, 2), float(size)))

if sys.argv[1] == "tasuki":
    # A program may have named a device for tensors that are made without one: here `torch.empty` makes what
    # has no memory.
    made = torch.empty
    gathered = [torch.full((3,), -1.0) for _ in range(size)]
    torch.empty = lambda *shape, **more: made(*shape, **{"device": "meta", **more})
    dist.all_gather(gathered, torch.full((3,), float(rank)))
    expect("all_gather with another device", torch.stack(gathered), torch.stack(parts(3)))
    dist.gather(torch.full((3,), float(rank)), gathered if rank == 0 else None, 0)
    torch.empty = made

    # A wait that is given up, after which the group goes on.
    if rank == 0:
        found = torch.empty(1)
        coming = dist.irecv(found, 1, tag=12)
        try:
            coming.wait(datetime.timedelta(milliseconds=50))
            sys.exit("a wait for what is not sent yet has ended")
        except RuntimeError as error:
            if "operation timed out" not in str(error):
                raise
        dist.send(torch.ones(1), 1, tag=9)
        coming.wait(datetime.timedelta(minutes=4))
        expect("recv after a wait that was given up", found, torch.tensor([12.0]))
    elif rank == 1:
        dist.recv(torch.empty(1), 0, tag=9)
        dist.send(torch.tensor([12.0]), 0, tag=12)

if size > 2:
    pair = dist.new_group([0, 2])
    if rank in (0, 2):
        found = torch.tensor([float(rank + 1)])
        dist.all_reduce(found, group=pair)
        expect("all_reduce of two", found, torch.tensor([4.0]))
dist.barrier()
print("tensors ok")
