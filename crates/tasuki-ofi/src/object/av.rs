//! Address vectors: the calls of fi_av(3). The table behind them is in `space.rs`.

use std::ffi::{CStr, c_char};
use std::ptr;
use std::sync::Arc;

use tasuki_engine::{Address, AddressError};

use super::refs;
use super::shared::DomainShared;
use crate::abi::*;
use crate::ep::EpShared;
use crate::guard::{self, Errno, Ret};
use crate::names;
use crate::note;
use crate::space::Space;

/// An address vector.
#[repr(C)]
pub struct Av {
    handle: FidAv,
    /// Held by every endpoint that is bound to the vector.
    pub shared: Arc<Space<EpShared>>,
    _domain: Arc<DomainShared>,
}

static OPS: Ops = Ops::new(close, refs::bind_events, refs::no_control);

static AV_OPS: OpsAv = OpsAv {
    size: size_of::<OpsAv>(),
    insert,
    insertsvc,
    insertsym: nosys,
    remove,
    lookup,
    straddr,
    av_set: nosys,
};

/// `fi_av_open`.
///
/// # Safety
/// The arguments are as fi_av(3) demands.
pub unsafe fn open(domain: &Arc<DomainShared>, attr: *mut AvAttr, av: *mut *mut FidAv, context: Ptr) -> Ret {
    // SAFETY: null or the caller's.
    let attr = unsafe { attr.as_mut() }.ok_or(Errno(FI_EINVAL))?;
    // A vector with a name is shared between processes, which is not offered. MPICH 4.0 tries to open one,
    // and crashes if it gets it.
    if !attr.name.is_null() {
        return Err(Errno(FI_ENOSYS));
    }
    // Neither asynchronous insertion (FI_EVENT) nor a vector that others fill (FI_READ) is offered.
    if attr.flags & !FI_SYMMETRIC != 0 {
        return Err(Errno(FI_EBADFLAGS));
    }
    if attr.rx_ctx_bits != 0 || !matches!(attr.av_type, FI_AV_UNSPEC..=FI_AV_TABLE) {
        return Err(Errno(FI_EINVAL));
    }
    // Both types give indices; a program that leaves the choice is told.
    if attr.av_type == FI_AV_UNSPEC {
        attr.av_type = FI_AV_TABLE;
    }
    let handle = FidAv { fid: Fid { fclass: FI_CLASS_AV, context, ops: &OPS }, ops: &AV_OPS };
    let object = Av { handle, shared: Arc::default(), _domain: domain.clone() };
    // SAFETY: the caller's place for the result; Av is repr(C) and begins with the handle.
    unsafe { guard::expose(av, object) }
}

unsafe extern "C" fn close(fid: *mut Fid) -> i32 {
    // SAFETY: only address vectors have this table.
    guard::int(|| unsafe { refs::close::<Av, _>(fid, |av| &av.shared) })
}

unsafe fn shared<'a>(av: *mut FidAv) -> Ret<&'a Space<EpShared>> {
    // SAFETY: only address vectors have these tables.
    Ok(&unsafe { guard::object::<Av, _>(av) }?.shared)
}

/// Where an insertion tells its results, and how.
struct Results {
    names: *mut FiAddr,
    flags: u64,
    context: Ptr,
}

impl Results {
    fn check(&self) -> Ret {
        if self.flags & !(FI_MORE | FI_SYNC_ERR) == 0 { Ok(()) } else { Err(Errno(FI_EBADFLAGS)) }
    }

    /// Inserts an address, or tells why there is none; 1 if it is inserted.
    ///
    /// # Safety
    /// `names` is null or has more than `index` entries. With `FI_SYNC_ERR` the context is null or an array
    /// of as many error numbers (fi_av(3)).
    unsafe fn insert(&self, index: usize, space: &Space<EpShared>, address: Ret<Address>) -> usize {
        let (name, errno) = match address.and_then(known) {
            Ok(address) => (space.insert(address), 0),
            Err(Errno(errno)) => (FI_ADDR_NOTAVAIL, errno),
        };
        // SAFETY: by the contract.
        unsafe {
            if !self.names.is_null() {
                self.names.add(index).write(name);
            }
            if self.flags & FI_SYNC_ERR != 0 && !self.context.is_null() {
                self.context.cast::<i32>().add(index).write(errno);
            }
        }
        usize::from(errno == 0)
    }
}

/// The address of an endpoint: that which is told at a location, if `address` is one.
fn known(address: Address) -> Ret<Address> {
    let Some(at) = names::as_location(&address) else { return Ok(address) };
    names::ask(at).map_err(|error| {
        note!("fi_av_insert: nobody tells an address at {at}: {error}");
        Errno(error.raw_os_error().unwrap_or(FI_EADDRNOTAVAIL))
    })
}

unsafe extern "C" fn insert(
    av: *mut FidAv,
    addresses: *const u8,
    count: usize,
    names: *mut FiAddr,
    flags: u64,
    context: Ptr,
) -> i32 {
    let inserted = guard::size(|| {
        // SAFETY: only address vectors have this table.
        let space = unsafe { shared(av) }?;
        let results = Results { names, flags, context };
        results.check()?;
        if addresses.is_null() && count > 0 {
            return Err(Errno(FI_EINVAL));
        }
        let insert = |index: usize| {
            // SAFETY: the caller gives `count` addresses of the size that `fi_getname` tells.
            let bytes =
                unsafe { std::slice::from_raw_parts(addresses.add(index * Address::LEN), Address::LEN) };
            let address = Address::from_bytes(bytes).inspect_err(refused).map_err(|_| Errno(FI_EINVAL));
            // SAFETY: if there are places for results, then `count` of them.
            unsafe { results.insert(index, space, address) }
        };
        Ok((0..count).map(insert).sum())
    });
    inserted as i32
}

/// `fi_av_insertsvc`: one endpoint, by names as for `fi_getinfo`.
unsafe extern "C" fn insertsvc(
    av: *mut FidAv,
    node: *const c_char,
    service: *const c_char,
    names: *mut FiAddr,
    flags: u64,
    context: Ptr,
) -> i32 {
    let inserted = guard::size(|| {
        // SAFETY: only address vectors have this table.
        let space = unsafe { shared(av) }?;
        let results = Results { names, flags, context };
        results.check()?;
        // SAFETY: null or zero-terminated.
        let name = |text: *const c_char| (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) });
        let at = names::resolve(name(node), name(service), false, false).map_err(|error| {
            note!("fi_av_insertsvc: {error}");
            Errno(FI_EADDRNOTAVAIL)
        });
        // SAFETY: if there is a place for the result, then one.
        Ok(unsafe { results.insert(0, space, at.map(names::location)) })
    });
    inserted as i32
}

unsafe extern "C" fn remove(av: *mut FidAv, names: *mut FiAddr, count: usize, _flags: u64) -> i32 {
    guard::int(|| {
        // SAFETY: only address vectors have this table.
        let space = unsafe { shared(av) }?;
        if names.is_null() && count > 0 {
            return Err(Errno(FI_EINVAL));
        }
        for index in 0..count {
            // SAFETY: the caller gives `count` of them.
            space.remove(unsafe { names.add(index).read() }).ok_or(Errno(FI_EINVAL))?;
        }
        Ok(())
    })
}

unsafe extern "C" fn lookup(av: *mut FidAv, name: FiAddr, buf: Ptr, len: *mut usize) -> i32 {
    guard::int(|| {
        // SAFETY: only address vectors have this table.
        let address = unsafe { shared(av) }?.address(name).ok_or(Errno(FI_EINVAL))?;
        // Unlike for fi_getname, a buffer that is too small is no error.
        // SAFETY: the caller's buffer and its length.
        match unsafe { give(&address, buf, len) } {
            Ok(()) | Err(Errno(FI_ETOOSMALL)) => Ok(()),
            other => other,
        }
    })
}

/// Writes an address, or as much of it as fits, and its whole length.
///
/// # Safety
/// `len` is null or says how many bytes `buf` has.
pub unsafe fn give(address: &Address, buf: Ptr, len: *mut usize) -> Ret {
    // SAFETY: null or the caller's.
    let len = unsafe { len.as_mut() }.ok_or(Errno(FI_EINVAL))?;
    let room = if buf.is_null() { 0 } else { *len };
    let bytes = address.to_bytes();
    if room > 0 {
        // SAFETY: no more than there is room for.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), buf.cast(), room.min(bytes.len())) };
    }
    *len = bytes.len();
    if room < bytes.len() { Err(Errno(FI_ETOOSMALL)) } else { Ok(()) }
}

/// Notes why bytes are no address. The user must hear of a peer with another version of Tasuki, because MPIs
/// say only that MPI_Init has failed.
fn refused(error: &AddressError) {
    match error {
        AddressError::Version { .. } => crate::log::say(&error.to_string()),
        _ => note!("fi_av_insert: {error}"),
    }
}

unsafe extern "C" fn straddr(_: *mut FidAv, address: *const u8, buf: *mut c_char, len: *mut usize) -> Text {
    guard::int(|| {
        if address.is_null() {
            return Err(Errno(FI_EINVAL));
        }
        // SAFETY: addresses have this size.
        let bytes = unsafe { std::slice::from_raw_parts(address, Address::LEN) };
        let text =
            Address::from_bytes(bytes).map_or_else(|error| error.to_string(), |address| address.to_string());
        // SAFETY: null or the caller's.
        let len = unsafe { len.as_mut() }.ok_or(Errno(FI_EINVAL))?;
        if !buf.is_null() && *len > 0 {
            let fit = text.len().min(*len - 1);
            // SAFETY: `fit` bytes and a zero fit into the buffer.
            unsafe {
                ptr::copy_nonoverlapping(text.as_ptr().cast(), buf, fit);
                buf.add(fit).write(0);
            }
        }
        *len = text.len() + 1;
        Ok(())
    });
    buf
}
