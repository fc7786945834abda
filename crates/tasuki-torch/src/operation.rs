//! A collective operation with the memory that the program has given for it.

use std::ptr::null_mut;
use std::slice;

use tasuki_collectives::{
    Element, Op, all_gather, all_reduce, all_to_all, barrier, broadcast, gather, reduce, reduce_scatter,
    scatter,
};

use crate::error::Error;
use crate::turn::Turn;

/// Memory of the program.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    pub ptr: *mut u8,
    /// Bytes.
    pub len: usize,
}

// SAFETY: it is an address and a length. The program promises that any thread may use the memory until the
// operation is over.
unsafe impl Send for Memory {}

impl Memory {
    /// # Safety
    /// The memory can be read and does not change meanwhile.
    unsafe fn input<'a>(self) -> &'a [u8] {
        // SAFETY: as the caller promises; no bytes need no memory.
        if self.len == 0 { &[] } else { unsafe { slice::from_raw_parts(self.ptr, self.len) } }
    }

    /// # Safety
    /// The memory can be written, and nobody else uses it meanwhile.
    unsafe fn output<'a>(self) -> &'a mut [u8] {
        // SAFETY: as the caller promises; no bytes need no memory.
        if self.len == 0 { &mut [] } else { unsafe { slice::from_raw_parts_mut(self.ptr, self.len) } }
    }

    /// Whether a byte is part of both.
    fn overlaps(self, other: Memory) -> bool {
        let ends_behind =
            |one: Memory, start: Memory| (one.ptr as usize).saturating_add(one.len) > start.ptr as usize;
        ends_behind(self, other) && ends_behind(other, self)
    }
}

/// What is to be done. The numbers are those of `tasuki_torch.py`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    AllReduce,
    AllGather,
    ReduceScatter,
    Broadcast,
    Reduce,
    Gather,
    Scatter,
    AllToAll,
    Barrier,
}

const KINDS: [Kind; 9] = [
    Kind::AllReduce,
    Kind::AllGather,
    Kind::ReduceScatter,
    Kind::Broadcast,
    Kind::Reduce,
    Kind::Gather,
    Kind::Scatter,
    Kind::AllToAll,
    Kind::Barrier,
];

const ELEMENTS: [Element; 9] = [
    Element::U8,
    Element::I8,
    Element::I16,
    Element::I32,
    Element::I64,
    Element::F16,
    Element::Bf16,
    Element::F32,
    Element::F64,
];

const OPS: [Op; 8] = [Op::Sum, Op::Average, Op::Product, Op::Min, Op::Max, Op::And, Op::Or, Op::Xor];

/// A collective operation. What is reduced or broadcast is `output` alone.
pub(crate) struct Operation {
    kind: Kind,
    input: Memory,
    output: Memory,
    root: usize,
    element: Element,
    op: Op,
}

impl Operation {
    /// Numbers as the program gives them, and whether the memory is as long as this operation wants it.
    pub fn new(
        [kind, root, element, op]: [u32; 4],
        (input, output): (Memory, Memory),
        (rank, size): (usize, usize),
    ) -> Result<Operation, Error> {
        let kind = *KINDS.get(kind as usize).ok_or(Error::Usage("there is no such operation"))?;
        let element = *ELEMENTS.get(element as usize).ok_or(Error::Usage("there is no such element"))?;
        let op = *OPS.get(op as usize).ok_or(Error::Usage("there is no such reduction"))?;
        let root = root as usize;
        let times = |len: usize| len.checked_mul(size);
        let is_long = match kind {
            Kind::AllReduce | Kind::Reduce | Kind::Broadcast | Kind::Barrier => true,
            Kind::AllGather => times(input.len) == Some(output.len),
            Kind::ReduceScatter => times(output.len) == Some(input.len),
            Kind::Gather => rank != root || times(input.len) == Some(output.len),
            Kind::Scatter => rank != root || times(output.len) == Some(input.len),
            Kind::AllToAll => input.len == output.len && input.len % size == 0,
        };
        if root >= size {
            return Err(Error::Usage("there is no such rank"));
        }
        if !is_long {
            return Err(Error::Usage("the tensors' lengths do not fit each other"));
        }
        let is_reduced = matches!(kind, Kind::AllReduce | Kind::Reduce | Kind::ReduceScatter);
        if is_reduced && output.len % element.bytes() != 0 {
            return Err(Error::Usage("a part of an element cannot be reduced"));
        }
        let is_null = |memory: Memory| memory.ptr.is_null() && memory.len > 0;
        if is_null(input) || is_null(output) {
            return Err(Error::Usage("a tensor has no memory"));
        }
        let is_in_output = matches!(kind, Kind::AllReduce | Kind::Reduce | Kind::Broadcast | Kind::Barrier);
        let input = if is_in_output { Memory { ptr: null_mut(), len: 0 } } else { input };
        Ok(Operation { kind, input, output, root, element, op })
    }

    /// Does it.
    ///
    /// # Safety
    /// The program leaves `input` alone, and nobody else uses `output`, until this returns.
    pub unsafe fn run(&self, turn: &mut Turn<'_>) -> Result<(), Error> {
        let (input, output) = (self.input, self.output);
        if !input.overlaps(output) {
            // SAFETY: as the caller promises, and the two are apart.
            let (input, output) = unsafe { (input.input(), output.output()) };
            return self.run_apart(turn, input, output);
        }
        // An operation in place, as NCCL knows them: the shorter tensor is a part of the longer one. What is
        // written must not change what is still to be read, so the shorter one gets other memory.
        if input.len <= output.len {
            // SAFETY: as the caller promises.
            let apart = unsafe { input.input() }.to_vec();
            // SAFETY: as the caller promises, and the input is not looked at any more.
            return self.run_apart(turn, &apart, unsafe { output.output() });
        }
        let mut apart = vec![0; output.len];
        // SAFETY: as the caller promises.
        self.run_apart(turn, unsafe { input.input() }, &mut apart)?;
        // SAFETY: as the caller promises, and the input is not looked at any more.
        unsafe { output.output() }.copy_from_slice(&apart);
        Ok(())
    }

    fn run_apart(&self, turn: &mut Turn<'_>, input: &[u8], output: &mut [u8]) -> Result<(), Error> {
        let (root, element, op) = (self.root, self.element, self.op);
        match self.kind {
            Kind::AllReduce => all_reduce(turn, output, element, op),
            Kind::AllGather => all_gather(turn, input, output),
            Kind::ReduceScatter => reduce_scatter(turn, input, output, element, op),
            Kind::Broadcast => broadcast(turn, output, root),
            Kind::Reduce => reduce(turn, output, root, element, op),
            Kind::Gather => gather(turn, input, output, root),
            Kind::Scatter => scatter(turn, input, output, root),
            Kind::AllToAll => all_to_all(turn, input, output),
            Kind::Barrier => barrier(turn),
        }
    }
}
