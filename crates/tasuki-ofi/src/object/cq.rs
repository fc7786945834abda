//! Completion queues: the calls. What they hold is in `queue.rs` and `entries.rs`.

use std::ffi::CStr;
use std::sync::Arc;

use super::deadline::Deadline;
use super::refs;
use super::shared::DomainShared;
use crate::abi::*;
use crate::ep::EpShared;
use crate::guard::{self, Errno, Ret};
use crate::members::Members;
use crate::queue::Queue;
use crate::recorder::Recorder;

/// A completion queue.
#[repr(C)]
pub struct Cq {
    handle: FidCq,
    wait_obj: i32,
    /// Held by every endpoint that reports here.
    pub shared: Arc<Queue<EpShared>>,
    domain: Arc<DomainShared>,
}

static OPS: Ops = Ops::new(close, refs::no_bind, control);

static CQ_OPS: OpsCq = table::<false>();
/// The calls for processes whose endpoints record their messages.
static RECORDING_CQ_OPS: OpsCq = table::<true>();

const fn table<const RECORDS: bool>() -> OpsCq {
    OpsCq {
        size: size_of::<OpsCq>(),
        read: read::<RECORDS>,
        readfrom: readfrom::<RECORDS>,
        readerr,
        sread: sread::<RECORDS>,
        sreadfrom: sreadfrom::<RECORDS>,
        signal,
        strerror,
    }
}

/// `fi_cq_open`.
///
/// # Safety
/// The arguments are as fi_cq(3) demands.
pub unsafe fn open(domain: &Arc<DomainShared>, attr: *mut CqAttr, cq: *mut *mut FidCq, context: Ptr) -> Ret {
    // SAFETY: null or the caller's.
    let (format, wait_obj, flags) = match unsafe { attr.as_ref() } {
        Some(attr) => (attr.format, attr.wait_obj, attr.flags),
        None => (FI_CQ_FORMAT_UNSPEC, FI_WAIT_NONE, 0),
    };
    // The processor that is to take interrupts is a hint; a queue of another provider cannot be imported
    // (FI_PEER).
    if flags & !FI_AFFINITY != 0 {
        return Err(Errno(FI_EBADFLAGS));
    }
    refs::check_wait(wait_obj)?;
    let entry_size = match format {
        FI_CQ_FORMAT_UNSPEC | FI_CQ_FORMAT_CONTEXT => 8,
        FI_CQ_FORMAT_MSG => 24,
        FI_CQ_FORMAT_DATA => 40,
        FI_CQ_FORMAT_TAGGED => size_of::<CqTaggedEntry>(),
        _ => return Err(Errno(FI_ENOSYS)),
    };
    let ops = if Recorder::is_wanted() { &RECORDING_CQ_OPS } else { &CQ_OPS };
    let handle = FidCq { fid: Fid { fclass: FI_CLASS_CQ, context, ops: &OPS }, ops };
    let members = match domain.one_caller {
        // SAFETY: as the program has promised for everything in the domain.
        true => unsafe { Members::of_one_caller() },
        false => Members::default(),
    };
    let shared = Arc::new(Queue::new(entry_size, members));
    let object = Cq { handle, wait_obj, shared, domain: domain.clone() };
    // SAFETY: the caller's place for the result; Cq is repr(C) and begins with the handle.
    unsafe { guard::expose(cq, object) }
}

/// Whether nothing is to be read, after a look at what has come in.
///
/// # Safety
/// `fid` is a completion queue.
pub unsafe fn is_idle(fid: *mut Fid) -> Ret<bool> {
    // SAFETY: by the contract.
    Ok(unsafe { guard::object::<Cq, Fid>(fid) }?.shared.is_idle())
}

unsafe extern "C" fn close(fid: *mut Fid) -> i32 {
    // SAFETY: only completion queues have this table.
    guard::int(|| unsafe { refs::close::<Cq, _>(fid, |cq| &cq.shared) })
}

unsafe extern "C" fn control(fid: *mut Fid, command: i32, arg: Ptr) -> i32 {
    guard::int(|| {
        // SAFETY: only completion queues have this table.
        let cq = unsafe { guard::object::<Cq, Fid>(fid) }?;
        if command != FI_GETWAITOBJ || arg.is_null() {
            return Err(Errno(FI_ENOSYS));
        }
        // SAFETY: this command's argument is a place for an `enum fi_wait_obj`.
        unsafe { arg.cast::<i32>().write(cq.wait_obj) };
        Ok(())
    })
}

unsafe extern "C" fn read<const RECORDS: bool>(cq: *mut FidCq, buf: Ptr, count: usize) -> isize {
    // SAFETY: the same arguments; no sources wanted.
    unsafe { readfrom::<RECORDS>(cq, buf, count, std::ptr::null_mut()) }
}

unsafe extern "C" fn readfrom<const RECORDS: bool>(
    cq: *mut FidCq,
    buf: Ptr,
    count: usize,
    sources: *mut FiAddr,
) -> isize {
    guard::size(move || {
        // SAFETY: only completion queues have this table.
        let cq = unsafe { guard::object::<Cq, _>(cq) }?;
        // SAFETY: the caller has room for `count` entries.
        unsafe { look::<RECORDS>(cq, buf, count, sources) }
    })
}

unsafe extern "C" fn sread<const RECORDS: bool>(
    cq: *mut FidCq,
    buf: Ptr,
    count: usize,
    cond: *const u8,
    timeout_ms: i32,
) -> isize {
    // SAFETY: the same arguments; no sources wanted.
    unsafe { sreadfrom::<RECORDS>(cq, buf, count, std::ptr::null_mut(), cond, timeout_ms) }
}

unsafe extern "C" fn sreadfrom<const RECORDS: bool>(
    cq: *mut FidCq,
    buf: Ptr,
    count: usize,
    sources: *mut FiAddr,
    _cond: *const u8,
    timeout_ms: i32,
) -> isize {
    guard::size(|| {
        // SAFETY: only completion queues have this table.
        let cq = unsafe { guard::object::<Cq, _>(cq) }?;
        let deadline = Deadline::after_ms(timeout_ms);
        loop {
            // SAFETY: the caller has room for `count` entries.
            let result = unsafe { look::<RECORDS>(cq, buf, count, sources) };
            if result != Err(Errno(FI_EAGAIN)) || cq.shared.take_signal() {
                return result;
            }
            let Some(left) = deadline.left() else { return result };
            cq.shared.members.wait(left);
        }
    })
}

/// Reads what there is.
///
/// # Safety
/// As for [`Queue::read`].
#[inline(always)]
unsafe fn look<const RECORDS: bool>(cq: &Cq, buf: Ptr, count: usize, sources: *mut FiAddr) -> Ret<usize> {
    match RECORDS {
        // SAFETY: by the contract.
        true => unsafe { cq.shared.read_recording(buf.cast(), count, sources) },
        // SAFETY: by the contract.
        false => unsafe { cq.shared.read(buf.cast(), count, sources) },
    }
}

unsafe extern "C" fn signal(cq: *mut FidCq) -> i32 {
    guard::int(|| {
        // SAFETY: only completion queues have this table.
        unsafe { guard::object::<Cq, _>(cq) }?.shared.signal();
        Ok(())
    })
}

unsafe extern "C" fn readerr(cq: *mut FidCq, entry: *mut CqErrEntry, _flags: u64) -> isize {
    guard::size(|| {
        // SAFETY: only completion queues have this table.
        let cq = unsafe { guard::object::<Cq, _>(cq) }?;
        if entry.is_null() {
            return Err(Errno(FI_EINVAL));
        }
        // SAFETY: not null, so the caller's, of the size that its version of libfabric has.
        unsafe { cq.shared.entries.read_error(entry, cq.domain.fabric.api_version) }
    })
}

unsafe extern "C" fn strerror(_: *mut FidCq, errno: i32, _data: *const u8, buf: *mut u8, len: usize) -> Text {
    // SAFETY: null or as many bytes as said.
    unsafe { describe(errno, buf, len) }
}

/// Text of an error number of a completion, static, and copied to `buf` if there is one.
///
/// # Safety
/// `buf` is null or has `len` bytes.
pub unsafe fn describe(errno: i32, buf: *mut u8, len: usize) -> Text {
    let text: &CStr = match errno {
        FI_ECANCELED => c"cancelled by the program",
        FI_ETRUNC => c"the message is longer than the buffer",
        FI_ENOMSG => c"no such message has arrived",
        FI_ECONNRESET => c"the peer has died or broke the protocol",
        FI_ESHUTDOWN => c"the peer has closed its endpoint",
        FI_EACCES => c"the peer has no such memory under this key, or not for this",
        FI_EINVAL => c"an element is not aligned in the peer's memory",
        // The last number is the kernel's last one (include/uapi/asm-generic/errno.h).
        // SAFETY: the C library gives a string, which for numbers of the kernel's is static.
        1..=libc::EHWPOISON => unsafe { CStr::from_ptr(libc::strerror(errno)) },
        _ => c"unknown error",
    };
    if !buf.is_null() && len > 0 {
        let bytes = text.to_bytes();
        let fit = bytes.len().min(len - 1);
        // SAFETY: `fit` bytes and a zero fit into `len`.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), buf, fit);
            buf.add(fit).write(0);
        }
    }
    text.as_ptr()
}
