//! The device that an answer of `fi_getinfo` names (fi_nic(3)): all NICs of the host's rails as one, since
//! which of them a message takes is not the program's business.
//!
//! libfabric frees it by its own `close`, and copies it with the pointer to that; what it consists of is of
//! malloc, in copies of libfabric's own, too.

use std::ffi::{CStr, CString, c_char};
use std::ptr;

use tasuki_engine::{HostLink, Options};

use crate::abi::*;
use crate::guard;
use crate::limits::NAME;
use crate::memory::{allocate, copied, some, text};

/// What `link_attr.network_type` says.
const NETWORK: &CStr = c"Ethernet";

static OPS: Ops = Ops { tostr, ..Ops::new(close, no_bind, no_control) };

/// The device of this host. Null if its rate is not known: then programs assume what they do without one.
/// `None` if memory is out.
pub fn of_host() -> Option<*mut FidNic> {
    let link = Options::from_env().ok().and_then(|options| options.link().ok().flatten());
    link.map_or(Some(ptr::null_mut()), |link| describe(&link))
}

/// A device with this link; `None` if memory is out.
fn describe(link: &HostLink) -> Option<*mut FidNic> {
    let address = CString::new(link.identity.to_string()).unwrap_or_default();
    filled(|nic| {
        // SAFETY: null stands for zeroes, which are valid in all of these; the texts are zero-terminated.
        unsafe {
            nic.device_attr = some(allocate(ptr::null()))?;
            nic.bus_attr = some(allocate(ptr::null()))?;
            nic.link_attr = some(allocate(ptr::null()))?;
            let (device, bus) = (nic.device_attr.as_mut()?, nic.bus_attr.as_mut()?);
            device.name = text(NAME.as_ptr())?;
            // Several NICs, wherever each is. Programs read the type without looking for a null pointer.
            bus.bus_type = FI_BUS_UNKNOWN;
            let attr = nic.link_attr.as_mut()?;
            attr.address = text(address.as_ptr())?;
            attr.mtu = link.mtu.into();
            attr.speed = link.rate_mbits as usize * 1_000_000;
            attr.state = FI_LINK_UP;
            attr.network_type = text(NETWORK.as_ptr())?;
        }
        Some(())
    })
}

/// A copy of a device of this provider or of libfabric's, or null for null; `None` if memory is out.
///
/// # Safety
/// `from` is null or valid, with what it points to.
pub unsafe fn copy(from: *const FidNic) -> Option<*mut FidNic> {
    // SAFETY: by the contract.
    let Some(from) = (unsafe { from.as_ref() }) else { return Some(ptr::null_mut()) };
    filled(|nic| {
        // SAFETY: by the contract. Pointers of a plain copy are made null before anything can fail, so that
        // nothing of the original is freed.
        unsafe {
            nic.device_attr = copied(from.device_attr)?;
            if let (Some(device), Some(from)) = (nic.device_attr.as_mut(), from.device_attr.as_ref()) {
                *device = std::mem::zeroed();
                device.name = text(from.name)?;
                device.device_id = text(from.device_id)?;
                device.device_version = text(from.device_version)?;
                device.vendor_id = text(from.vendor_id)?;
                device.driver = text(from.driver)?;
                device.firmware = text(from.firmware)?;
            }
            nic.bus_attr = copied(from.bus_attr)?;
            nic.link_attr = copied(from.link_attr)?;
            if let (Some(link), Some(from)) = (nic.link_attr.as_mut(), from.link_attr.as_ref()) {
                (link.address, link.network_type) = (ptr::null_mut(), ptr::null_mut());
                link.address = text(from.address)?;
                link.network_type = text(from.network_type)?;
            }
        }
        Some(())
    })
}

/// A device of zeroes that `fill` fills; `None` if memory is out.
fn filled(fill: impl FnOnce(&mut FidNic) -> Option<()>) -> Option<*mut FidNic> {
    // SAFETY: null stands for zeroes, which are valid.
    let pointer = some(unsafe { allocate::<FidNic>(ptr::null()) })?;
    // SAFETY: just allocated, and nobody else has it.
    let nic = unsafe { &mut *pointer };
    nic.fid.fclass = FI_CLASS_NIC;
    nic.fid.ops = &OPS;
    if fill(nic).is_none() {
        // SAFETY: what it points to is null or of malloc.
        unsafe { free(pointer) };
        return None;
    }
    Some(pointer)
}

/// Frees a device.
///
/// # Safety
/// `nic` is null, or it and all that it points to is of malloc, and nobody uses it any more.
pub unsafe fn free(nic: *mut FidNic) {
    // SAFETY: by the contract.
    unsafe {
        let Some(entry) = nic.as_ref() else { return };
        if let Some(device) = entry.device_attr.as_ref() {
            let names = [device.name, device.device_id, device.device_version];
            for name in names.into_iter().chain([device.vendor_id, device.driver, device.firmware]) {
                libc::free(name.cast());
            }
        }
        if let Some(link) = entry.link_attr.as_ref() {
            libc::free(link.address.cast());
            libc::free(link.network_type.cast());
        }
        for part in [entry.device_attr.cast(), entry.bus_attr.cast(), entry.link_attr.cast(), nic.cast()] {
            libc::free(part);
        }
    }
}

unsafe extern "C" fn close(fid: *mut Fid) -> i32 {
    guard::int(|| {
        // SAFETY: `fi_freeinfo` closes the device of an answer or of a copy once.
        unsafe { free(fid.cast()) };
        Ok(())
    })
}

unsafe extern "C" fn no_bind(_: *mut Fid, _: *mut Fid, _: u64) -> i32 {
    -FI_ENOSYS
}

unsafe extern "C" fn no_control(_: *mut Fid, _: i32, _: Ptr) -> i32 {
    -FI_ENOSYS
}

/// Adds to a text what `fi_tostr` says of the device, in the form of its other parts.
unsafe extern "C" fn tostr(fid: *const Fid, buffer: *mut c_char, len: usize) -> i32 {
    guard::int(|| {
        // SAFETY: `fi_tostr` gives a device of this provider, and a buffer that holds a zero-terminated text
        // and has `len` bytes at least; all pointers of the device are null or valid.
        unsafe {
            let Some(nic) = fid.cast::<FidNic>().as_ref() else { return Ok(()) };
            let begin = libc::strnlen(buffer, len);
            let words = CString::new(words(nic)).unwrap_or_default();
            let words = words.as_bytes();
            // The last byte is for the end of the text.
            let count = words.len().min(len.saturating_sub(begin + 1));
            if count > 0 {
                ptr::copy_nonoverlapping(words.as_ptr(), buffer.add(begin).cast(), count);
                buffer.add(begin + count).write(0);
            }
        }
        Ok(())
    })
}

/// What is said of a device.
///
/// # Safety
/// All pointers of the device are null or valid.
unsafe fn words(nic: &FidNic) -> String {
    let mut words = String::from("    nic:\n");
    // SAFETY: by the contract; texts are null or zero-terminated.
    unsafe {
        let text = |text: *mut c_char| match text.is_null() {
            true => "(null)".into(),
            false => CStr::from_ptr(text).to_string_lossy(),
        };
        if let Some(device) = nic.device_attr.as_ref() {
            words += &format!("        fi_device_attr:\n            name: {}\n", text(device.name));
        }
        if let Some(link) = nic.link_attr.as_ref() {
            words += &format!(
                "        fi_link_attr:\n            address: {}\n            mtu: {}\n            \
                 speed: {}\n",
                text(link.address),
                link.mtu,
                link.speed,
            );
            let state = if link.state == FI_LINK_UP { "FI_LINK_UP" } else { "FI_LINK_UNKNOWN" };
            words += &format!(
                "            state: {state}\n            network_type: {}\n",
                text(link.network_type)
            );
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device() -> *mut FidNic {
        let link = HostLink { identity: "10.77.0.3".parse().unwrap(), mtu: 9000, rate_mbits: 5000 };
        describe(&link).expect("memory")
    }

    /// The device as C programs read it, without looking for null pointers: aws-ofi-nccl among others.
    unsafe fn read(nic: *const FidNic) -> (String, String, usize, usize, i32, i32, String) {
        // SAFETY: the caller's device.
        unsafe {
            let text = |text: *mut c_char| CStr::from_ptr(text).to_str().unwrap().to_owned();
            let (device, link) = (&*(*nic).device_attr, &*(*nic).link_attr);
            let (bus, kind) = (&*(*nic).bus_attr, text(link.network_type));
            (text(device.name), text(link.address), link.mtu, link.speed, link.state, bus.bus_type, kind)
        }
    }

    #[test]
    fn all_rails_together_are_one_device_and_a_copy_outlives_it() {
        let nic = device();
        let expected =
            ("tasuki".into(), "10.77.0.3".into(), 9000, 5_000_000_000, FI_LINK_UP, 0, "Ethernet".into());
        // SAFETY: devices are closed once, by the call that libfabric makes.
        unsafe {
            assert_eq!(read(nic), expected);
            assert_eq!((*nic).fid.fclass, FI_CLASS_NIC);
            let other = copy(nic).expect("memory");
            let close = |nic: *mut FidNic| ((*(*nic).fid.ops).close)(nic.cast());
            assert_eq!(close(nic), 0);
            assert_eq!(read(other), expected);
            assert_eq!(close(other), 0);
            assert_eq!(copy(ptr::null()), Some(ptr::null_mut()));
        }
    }

    #[test]
    fn its_text_is_added_to_another_one_and_never_longer_than_the_buffer() {
        let nic = device();
        for len in [0, 1, 4, 5, 40, 1000] {
            let mut buffer = [b'x'; 1001];
            buffer[..4].copy_from_slice(b"abc\0");
            // SAFETY: the buffer has that length; the device is closed below.
            unsafe { tostr((nic as *const FidNic).cast(), buffer.as_mut_ptr().cast(), len) };
            assert_eq!(&buffer[..3], b"abc");
            let end = buffer.iter().position(|byte| *byte == 0).expect("an end");
            assert!(end < len.max(4), "{len}: {end}");
            assert!(buffer[len.max(4)..].iter().all(|byte| *byte == b'x'), "{len}");
            let said = String::from_utf8_lossy(&buffer[..end]);
            assert!(len < 1000 || said.contains("speed: 5000000000\n"), "{said}");
        }
        // SAFETY: of this test alone.
        unsafe { free(nic) };
    }
}
