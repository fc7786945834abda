"""PyTorch's collective operations over all cables of a Tasuki cluster, for tensors in host memory.

    import torch.distributed as dist
    import tasuki_torch

    dist.init_process_group("tasuki")      # MASTER_ADDR, RANK, WORLD_SIZE as for any other backend

`tasuki run --resident` and torchrun start the ranks; `eval "$(tasuki env --for torch)"` lets Python find this
module. All ranks' calls of a process group must come in the same order.
"""

import atexit
import ctypes
import os
import queue
import threading
import time
import weakref

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

_KINDS = ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "gather", "scatter",
          "all_to_all", "barrier"]
_ELEMENTS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
             torch.float32, torch.float64]
_OPS = [dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.PRODUCT, dist.ReduceOp.MIN, dist.ReduceOp.MAX,
        dist.ReduceOp.BAND, dist.ReduceOp.BOR, dist.ReduceOp.BXOR]
_TEXT = 4096
# Seconds between two looks at what is under way: more and more.
_PAUSES = (0.0002, 0.005)


def _load():
    """The native half, beside this file."""
    file = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libtasuki-torch.so")
    if not os.path.exists(file):
        raise ImportError(f"there is no {file}: install Tasuki again")
    native = ctypes.CDLL(file)
    pointer, size, number, name = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, ctypes.c_uint64
    for function, result, arguments in [
            ("reason", None, [ctypes.c_char_p, size]),
            ("open", pointer, [ctypes.c_uint32, ctypes.c_uint32]),
            ("address", number, [pointer, ctypes.c_char_p, size]),
            ("connect", number, [pointer, ctypes.c_char_p]),
            ("start", number, [pointer, ctypes.c_uint32 * 4, pointer, size, pointer, size, name]),
            ("wait", number, [pointer, name]),
            ("test", number, [pointer, name]),
            ("message", number, [pointer, ctypes.c_int, number, ctypes.c_uint32, pointer, size]),
            ("finish", number, [pointer, name, number, name]),
            ("look", number, [pointer, name]),
            ("abort", None, [pointer]),
            ("close", None, [pointer])]:
        found = getattr(native, f"tasuki_torch_{function}")
        found.restype, found.argtypes = result, arguments
    return native


_native = _load()


def _fail():
    text = ctypes.create_string_buffer(_TEXT)
    _native.tasuki_torch_reason(text, _TEXT)
    raise RuntimeError(f"tasuki: {text.value.decode(errors='replace')}")


def _checked(result):
    return _fail() if result == -1 else result


def _op_of(op, tensor):
    """The number of a reduction of a tensor's elements."""
    op = getattr(op, "op", op)
    if op not in _OPS:
        raise ValueError(f"tasuki: {op} is no reduction that it knows")
    number = _OPS.index(op)
    if tensor.dtype == torch.bool:
        # One is true and zero is false: a sum is true if any is, a product if all are.
        number = {0: 6, 2: 5, 3: 5, 4: 6}.get(number, number)
    return number


def _element_of(tensor):
    if tensor.dtype == torch.bool:
        return 0
    if tensor.dtype not in _ELEMENTS:
        raise ValueError(f"tasuki: tensors of {tensor.dtype} cannot be reduced")
    return _ELEMENTS.index(tensor.dtype)


def _bytes_of(tensor):
    return tensor.numel() * tensor.element_size()


def _one(tensors):
    """The only tensor of a list, as bindings of PyTorch give them."""
    tensor, = tensors
    if tensor.device.type != "cpu":
        raise ValueError(f"tasuki: a tensor is on {tensor.device}; for GPUs use nccl with Tasuki's plug-in")
    if tensor.layout != torch.strided:
        raise ValueError("tasuki: sparse tensors are not carried")
    return tensor


def _reduction(opts):
    return opts.reduceOp if opts else dist.ReduceOp.SUM


def _root(opts):
    return opts.rootRank if opts else 0


def _written(tensor):
    """Contiguous memory for what is written to a tensor, and what brings it there afterwards."""
    whole = tensor.contiguous()
    if whole.data_ptr() == tensor.data_ptr():
        return whole, None
    return whole, lambda: tensor.copy_(whole)


class _Work(c10d.Work):
    """An operation under way. It holds the tensors, so that their memory is there until its end."""

    def __init__(self, group, wait, test, tensors, after, result, late=None):
        super().__init__()
        self._group, self._wait, self._test, self._late = group, wait, test, late
        self._tensors, self._after, self._result = tensors, after, result
        # `turn` is held by the one thread that asks whether it is over, `lock` for a moment.
        self._turn, self._lock = threading.Lock(), threading.Lock()
        self._over, self._error, self._future = False, None, None

    def _end(self, error):
        """What is done once, by whoever finds first that it is over."""
        with self._lock:
            if self._over:
                return
            if error is None and self._after is not None:
                # Gradients are not computed through this; a parameter would refuse to be written otherwise.
                with torch.no_grad():
                    self._after()
            self._over, self._error, self._tensors = True, error, None
            future = self._future
        self._group._forget(self)
        if future is not None:
            self._tell(future)

    def _tell(self, future):
        if self._error is None:
            future.set_result(self._result)
        else:
            future.set_exception(self._error)

    def wait(self, timeout=None):
        """Waits until it is over. With a timeout, not the group's, it goes on although the time is up."""
        seconds = timeout.total_seconds() if timeout is not None else 0
        if seconds > 0:
            self._wait_for(seconds)
        else:
            with self._turn:
                self._ask(lambda: self._wait() is not None)
        if self._error is not None:
            raise self._error
        return True

    def _wait_for(self, seconds):
        limit, pause = time.monotonic() + seconds, _PAUSES[0]
        while not self.is_completed():
            left = limit - time.monotonic()
            if left <= 0:
                raise RuntimeError(f"tasuki: operation timed out after {seconds:g} s, and is still under way")
            time.sleep(min(pause, left))
            pause = min(2 * pause, _PAUSES[1])

    def is_completed(self):
        return self._try(self._test)

    def _is_over_by(self, limit):
        """As above, and over as well when the time is up."""
        return self.is_completed() or (time.monotonic() > limit and self._try(self._late))

    def _try(self, is_over):
        # A thread that waits for it asks itself.
        if self._turn.acquire(blocking=False):
            try:
                self._ask(is_over)
            finally:
                self._turn.release()
        return self._over

    def _ask(self, is_over):
        if not self._over:
            try:
                if is_over():
                    self._end(None)
            except RuntimeError as error:
                self._end(error)

    def is_success(self):
        return self._over and self._error is None

    def exception(self):
        return self._error

    def result(self):
        return self._result

    def get_future(self):
        with self._lock:
            if self._future is None:
                self._future = torch.futures.Future()
                if self._over:
                    self._tell(self._future)
                else:
                    self._group._watch(self)
            return self._future


def _tell_collectives(watched):
    """Waits for one collective operation after the other, and so tells their futures: they end in order."""
    for work, _ in iter(watched.get, None):
        try:
            work.wait()
        except RuntimeError:
            pass
        del work


def _tell_messages(watched):
    """Looks at sends and receives again and again, and so tells their futures: they end in any order."""
    under_way, pause = [], None
    while True:
        try:
            found = watched.get(timeout=pause)
            if found is None:
                break
            under_way.append(found)
            pause = _PAUSES[0]
        except queue.Empty:
            pause = min(2 * pause, _PAUSES[1])
        under_way = [(work, limit) for work, limit in under_way if not work._is_over_by(limit)]
        if not under_way:
            found = pause = None
    # What is under way has been failed by now.
    for work, _ in under_way:
        work.is_completed()


def _abort(group):
    group = group()
    if group is not None and group._process == os.getpid():
        _native.tasuki_torch_abort(group._group)
        # A thread that tells a future of PyTorch while Python ends would end the process by an abort.
        for watched, watcher in group._watched.values():
            watched.put(None)
            watcher.join(timeout=10)


class ProcessGroupTasuki(dist.ProcessGroup):
    """A process group of the backend `tasuki`."""

    def __init__(self, store, rank, size, timeout):
        super().__init__(rank, size)
        self._rank, self._size = rank, size
        self._timeout = max(1, int(timeout.total_seconds() * 1000))
        self._under_way, self._watched = set(), {}
        self._lock, self._process, self._looked_at = threading.Lock(), os.getpid(), 64
        self._group = _native.tasuki_torch_open(rank, size)
        if not self._group:
            _fail()
        own = ctypes.create_string_buffer(_TEXT)
        _checked(_native.tasuki_torch_address(self._group, own, _TEXT))
        # A rank that ends has delivered all that it has sent.
        atexit.register(_abort, weakref.ref(self))
        store.set(f"tasuki/{rank}", own.value)
        addresses = b"\n".join(bytes(store.get(f"tasuki/{other}")) for other in range(size))
        _checked(_native.tasuki_torch_connect(self._group, addresses))

    # What keeps operations alive, and tells futures of their ends.

    def _forget(self, work):
        with self._lock:
            self._under_way.discard(work)

    def _watch(self, work):
        tell = _tell_collectives if work._late is None else _tell_messages
        with self._lock:
            if tell not in self._watched:
                # It knows the queue alone, so that a group that nobody uses any more is closed.
                watched = queue.SimpleQueue()
                watcher = threading.Thread(target=tell, args=[watched], daemon=True)
                self._watched[tell] = watched, watcher
                watcher.start()
        self._watched[tell][0].put((work, time.monotonic() + self._timeout / 1000))

    def __del__(self):
        # A process that was forked, as to load data, has a copy, and no threads that could close it.
        if getattr(self, "_group", None) and self._process == os.getpid():
            for watched, _ in self._watched.values():
                watched.put(None)
            _native.tasuki_torch_close(self._group)

    def _begin(self, work):
        with self._lock:
            self._under_way.add(work)
            held = tuple(self._under_way) if len(self._under_way) > self._looked_at else ()
        # What nobody waits for, as sends may be, is let go of now and then.
        if held:
            self._looked_at = 64 + 2 * sum(not old.is_completed() for old in held)
        return work

    def _start(self, kind, source, target, *, root=0, op=None, after=None, result=None):
        """Queues an operation on contiguous tensors, of which either may be absent."""
        reduced = target if target is not None else source
        what = [_KINDS.index(kind), root, _element_of(reduced) if op is not None else 0,
                _op_of(op, reduced) if op is not None else 0]
        memory = [part for tensor in (source, target)
                  for part in ((None, 0) if tensor is None else (tensor.data_ptr(), _bytes_of(tensor)))]
        name = _checked(_native.tasuki_torch_start(self._group, (ctypes.c_uint32 * 4)(*what), *memory,
                                                   self._timeout))
        return self._begin(_Work(
            self, lambda: _checked(_native.tasuki_torch_wait(self._group, name)),
            lambda: _checked(_native.tasuki_torch_test(self._group, name)),
            (source, target), after, result))

    def _in_place(self, kind, tensors, **more):
        """An operation whose result takes the place of a tensor, which need not be contiguous."""
        tensor = _one(tensors)
        whole, after = _written(tensor)
        return self._start(kind, None, whole, after=after, result=[tensor], **more)

    # What PyTorch calls.

    def getBackendName(self):
        return "tasuki"

    def allreduce(self, tensors, opts=None):
        return self._in_place("all_reduce", tensors, op=_reduction(opts))

    def allreduce_coalesced(self, tensors, opts=None):
        op = _reduction(opts)
        if len({tensor.dtype for tensor in tensors}) != 1:
            raise ValueError("tasuki: tensors that are reduced together must have one type")
        whole = torch.cat([_one([tensor]).reshape(-1) for tensor in tensors])

        def spread():
            at = 0
            for tensor in tensors:
                tensor.copy_(whole[at:at + tensor.numel()].reshape(tensor.shape))
                at += tensor.numel()
        return self._start("all_reduce", None, whole, op=op, after=spread, result=tensors)

    def broadcast(self, tensors, opts=None):
        return self._in_place("broadcast", tensors, root=_root(opts))

    def reduce(self, tensors, opts=None):
        tensor, root = _one(tensors), _root(opts)
        # The others' tensors stay as they are.
        whole = tensor.contiguous().clone()
        after = (lambda: tensor.copy_(whole)) if root == self._rank else None
        return self._start("reduce", None, whole, root=root, op=_reduction(opts), after=after,
                           result=[tensor])

    def allgather(self, outputs, inputs, opts=None):
        outputs, source = outputs[0], _one(inputs).contiguous()
        whole = source.new_empty((self._size, *source.shape))
        return self._start("all_gather", source, whole, result=[outputs],
                           after=lambda: [out.copy_(part) for out, part in zip(outputs, whole)])

    def _allgather_base(self, output, source, opts=None):
        whole, after = _written(_one([output]))
        return self._start("all_gather", _one([source]).contiguous(), whole, after=after, result=[output])

    def reduce_scatter(self, outputs, inputs, opts=None):
        output = _one(outputs)
        source = torch.stack([_one([part]) for part in inputs[0]])
        return self._reduced_part(output, source, opts)

    def _reduce_scatter_base(self, output, source, opts=None):
        return self._reduced_part(_one([output]), _one([source]).contiguous(), opts)

    def _reduced_part(self, output, source, opts):
        whole, after = _written(output)
        return self._start("reduce_scatter", source, whole, op=_reduction(opts), after=after, result=[output])

    def gather(self, outputs, inputs, opts=None):
        source, root = _one(inputs).contiguous(), _root(opts)
        if root != self._rank:
            return self._start("gather", source, None, root=root, result=[])
        whole = source.new_empty((self._size, *source.shape))
        return self._start("gather", source, whole, root=root, result=outputs,
                           after=lambda: [out.copy_(part) for out, part in zip(outputs[0], whole)])

    def scatter(self, outputs, inputs, opts=None):
        output, root = _one(outputs), _root(opts)
        whole, after = _written(output)
        source = torch.stack([_one([part]) for part in inputs[0]]) if root == self._rank else None
        return self._start("scatter", source, whole, root=root, after=after, result=[output])

    def alltoall_base(self, output, source, output_splits, input_splits, opts=None):
        if len({*output_splits, *input_splits}) > 1:
            raise ValueError("tasuki: all_to_all carries parts of equal length")
        whole, after = _written(_one([output]))
        return self._start("all_to_all", _one([source]).contiguous(), whole, after=after, result=[output])

    def barrier(self, opts=None):
        return self._start("barrier", None, None, result=[])

    def _message(self, is_send, tensors, rank, tag):
        tensor = _one(tensors)
        whole, after = _written(tensor)
        name = _checked(_native.tasuki_torch_message(self._group, is_send, rank, tag & 0xffffffff,
                                                     whole.data_ptr(), _bytes_of(whole)))
        found = [-1]

        def wait():
            found.append(_checked(_native.tasuki_torch_finish(self._group, name, rank, self._timeout)))
            return True

        def test():
            seen = _checked(_native.tasuki_torch_look(self._group, name))
            if seen:
                found.append(seen - 1)
            return seen > 0

        def late():
            _native.tasuki_torch_abort(self._group)
            about = f"rank {rank}" if rank >= 0 else "any rank"
            raise RuntimeError(f"tasuki: nothing was heard of {about} for {self._timeout // 1000} s "
                               "(the group's timeout)")
        after = None if is_send else after
        work = self._begin(_Work(self, wait, test, whole, after, [tensor], late))
        work._source_rank = lambda: found[-1]
        return work

    def send(self, tensors, rank, tag=0):
        return self._message(1, tensors, rank, tag)

    def recv(self, tensors, rank, tag=0):
        return self._message(0, tensors, rank, tag)

    def recv_anysource(self, tensors, tag=0):
        return self._message(0, tensors, -1, tag)


def _create(store, rank, size, timeout):
    return ProcessGroupTasuki(store, rank, size, timeout)


dist.Backend.register_backend("tasuki", _create)
