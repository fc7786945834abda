//! Network interfaces by their numbers: packet sockets are bound to such, and an interface has another one
//! when it was put back, its machine was started again, or another machine has taken its place.
//!
//! CRIU binds a socket to the number that it had (`criu/sk-packet.c`). Where an interface of the name has
//! another number now, its sockets are made from a copy of the image with that one. The image is a row of
//! messages of protocol buffers, each behind its length (`images/fdinfo.proto`, `images/packet-sock.proto`).

use nix::net::if_::if_nameindex;
use std::{
    collections::BTreeMap,
    fs,
    io::{self, ErrorKind},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

/// The image with the sockets of all processes.
const FILES: &str = "files.img";
/// The folder with the images as they are restored on this machine, beside that of the images.
const HERE: &str = "here";
/// Bytes before the first message: two magic numbers.
const MAGIC: usize = 8;
/// In a `file_entry`: a packet socket.
const PACKET_SOCKET: u64 = 6;
/// In a `packet_sock_entry`: the interface that it is bound to, and groups that it has joined.
const INTERFACE: u64 = 5;
const GROUP: u64 = 16;
/// In a `packet_mclist`: the interface.
const GROUP_INTERFACE: u64 = 1;

/// Interfaces by their names.
pub(super) type Numbers = BTreeMap<String, u32>;

/// What has become of numbers: the one that the interface has now, or, if it is not here, its name.
type Moved = BTreeMap<u64, Result<u32, String>>;

/// The interfaces of this process's network namespace.
pub(super) fn present() -> io::Result<Numbers> {
    let named = |one: &nix::net::if_::Interface| (one.name().to_string_lossy().into_owned(), one.index());
    Ok(if_nameindex()?.iter().map(named).collect())
}

/// The folder from which CRIU is to restore what it has written to `images`, where interfaces had these
/// numbers: that one, or one with links to its files and another image of sockets, which [`forget`] removes.
///
/// # Errors
/// If an interface is not here on which a process had a packet socket, or files cannot be made.
pub(super) fn for_this_machine(images: &Path, then: &Numbers) -> Result<PathBuf, String> {
    let at = |path: &Path, error: io::Error| format!("{}: {error}", path.display());
    let now = present().map_err(|error| format!("interfaces cannot be listed: {error}"))?;
    let moved = moved(then, &now);
    let path = images.join(FILES);
    let image = fs::read(&path).map_err(|error| at(&path, error))?;
    let renumbered = renumber(&image, &moved).map_err(|why| format!("{}: {why}", path.display()))?;
    if renumbered == image {
        return Ok(images.into());
    }
    forget(images);
    let here = images.with_file_name(HERE);
    fs::DirBuilder::new().mode(0o700).create(&here).map_err(|error| at(&here, error))?;
    for entry in fs::read_dir(images).map_err(|error| at(images, error))? {
        let entry = entry.map_err(|error| at(images, error))?;
        let link = here.join(entry.file_name());
        if entry.file_name() == FILES {
            fs::write(&link, &renumbered).map_err(|error| at(&link, error))?;
        } else {
            fs::hard_link(entry.path(), &link).map_err(|error| at(&link, error))?;
        }
    }
    Ok(here)
}

/// Removes what [`for_this_machine`] has made, if it has made something.
pub(super) fn forget(images: &Path) {
    match fs::remove_dir_all(images.with_file_name(HERE)) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            eprintln!("links beside {} cannot be removed: {error}", images.display());
        }
        _ => {}
    }
}

fn moved(then: &Numbers, now: &Numbers) -> Moved {
    let new = |name: &String| now.get(name).copied().ok_or_else(|| name.clone());
    let all = then.iter().map(|(name, number)| (u64::from(*number), new(name)));
    all.filter(|(number, new)| !new.as_ref().is_ok_and(|new| u64::from(*new) == *number)).collect()
}

/// The image with other numbers.
fn renumber(image: &[u8], moved: &Moved) -> Result<Vec<u8>, String> {
    let (magic, mut rest) = image.split_at_checked(MAGIC).ok_or("it is too short")?;
    let mut out = magic.to_vec();
    while !rest.is_empty() {
        let (length, behind) = rest.split_first_chunk().ok_or("a length is cut off")?;
        let length = u32::from_le_bytes(*length) as usize;
        let (message, behind) = behind.split_at_checked(length).ok_or("a message is cut off")?;
        let message = change(message, |field, value| match (field, value) {
            (PACKET_SOCKET, Value::Bytes(socket)) => Ok(Some(bytes(&of_socket(socket, moved)?))),
            _ => Ok(None),
        })?;
        out.extend((message.len() as u32).to_le_bytes());
        out.extend(message);
        rest = behind;
    }
    Ok(out)
}

/// A packet socket with another number, and its groups.
fn of_socket(socket: &[u8], moved: &Moved) -> Result<Vec<u8>, String> {
    let number = |number: u64| match moved.get(&number) {
        None => Ok(None),
        Some(Ok(new)) => Ok(Some(varint(u64::from(*new)))),
        Some(Err(name)) => Err(format!("the job had a socket on the NIC {name}, which is not here")),
    };
    change(socket, |field, value| match (field, value) {
        (INTERFACE, Value::Number(at)) => number(at),
        (GROUP, Value::Bytes(group)) => {
            let group = change(group, |field, value| match (field, value) {
                (GROUP_INTERFACE, Value::Number(at)) => number(at),
                _ => Ok(None),
            });
            Ok(Some(bytes(&group?)))
        }
        _ => Ok(None),
    })
}

/// The value of a field.
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Four or eight bytes.
    Fixed,
}

/// A message of which some fields have other values: their encoded form.
fn change(
    message: &[u8],
    mut new: impl FnMut(u64, Value) -> Result<Option<Vec<u8>>, String>,
) -> Result<Vec<u8>, String> {
    let (mut rest, mut out) = (message, Vec::with_capacity(message.len() + 8));
    while !rest.is_empty() {
        let key = take_varint(&mut rest)?;
        let before = rest;
        let value = match key & 7 {
            0 => Value::Number(take_varint(&mut rest)?),
            1 => take(&mut rest, 8).map(|_| Value::Fixed)?,
            2 => {
                let length = take_varint(&mut rest)?;
                Value::Bytes(take(&mut rest, length)?)
            }
            5 => take(&mut rest, 4).map(|_| Value::Fixed)?,
            other => return Err(format!("a field is of the unknown type {other}")),
        };
        out.extend(varint(key));
        match new(key >> 3, value)? {
            Some(value) => out.extend(value),
            None => out.extend(&before[..before.len() - rest.len()]),
        }
    }
    Ok(out)
}

fn take<'a>(rest: &mut &'a [u8], length: u64) -> Result<&'a [u8], String> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let (taken, behind) = rest.split_at_checked(length).ok_or("a field is cut off")?;
    *rest = behind;
    Ok(taken)
}

/// Takes a number, seven bits to a byte, the lowest first.
fn take_varint(rest: &mut &[u8]) -> Result<u64, String> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(rest, 1)?[0];
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err("a number is too long".into())
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
    out
}

/// The encoded form of bytes: their number, and they.
fn bytes(value: &[u8]) -> Vec<u8> {
    [varint(value.len() as u64), value.to_vec()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field with a number.
    fn number(field: u64, value: u64) -> Vec<u8> {
        [varint(field << 3), varint(value)].concat()
    }

    /// A field with bytes.
    fn nested(field: u64, value: &[u8]) -> Vec<u8> {
        [varint(field << 3 | 2), bytes(value)].concat()
    }

    /// An image with a regular file whose id is 5, and a packet socket on an interface, whose id is 5, too.
    fn image(interface: u64) -> Vec<u8> {
        let group = [number(1, interface), number(2, 0), nested(3, b"\x01\0\x5e\0\0\x05")].concat();
        let socket = [
            [number(1, 5), number(2, 3), number(3, 0x88b5), number(4, 2), number(5, interface)].concat(),
            nested(6, &number(1, 0)),
            [varint(20 << 3 | 1), vec![5; 8], varint(21 << 3 | 5), vec![5; 4]].concat(),
            nested(16, &group),
            number(17, 0xffff_ffff),
        ];
        let file = [number(1, 1), number(2, 5), nested(3, &number(5, 5))].concat();
        let socket = [number(1, 10), number(2, 5), nested(6, &socket.concat())].concat();
        let messages = [file, socket].map(|one| [&(one.len() as u32).to_le_bytes()[..], &one].concat());
        [b"\x19\x43\x56\x54\x38\x01\x30\x56".to_vec(), messages.concat()].concat()
    }

    fn numbers(all: &[(&str, u32)]) -> Numbers {
        all.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect()
    }

    #[test]
    fn sockets_are_bound_to_the_number_that_their_interface_has_now() {
        let then = numbers(&[("lo", 1), ("eth1", 5), ("eth2", 6)]);
        let now = numbers(&[("lo", 1), ("other", 5), ("eth1", 300), ("eth2", 6)]);
        let moved = moved(&then, &now);
        assert_eq!(renumber(&image(5), &moved), Ok(image(300)));
        assert_eq!(renumber(&image(6), &moved), Ok(image(6)));
        assert_eq!(renumber(&image(7), &moved), Ok(image(7)), "of an interface that nothing is known of");
    }

    #[test]
    fn an_interface_that_is_missing_is_named_if_a_socket_needs_it() {
        let then = numbers(&[("eth1", 5), ("eth2", 6)]);
        let moved = moved(&then, &numbers(&[("eth2", 6)]));
        assert!(renumber(&image(5), &moved).is_err_and(|why| why.contains("NIC eth1, which is not here")));
        assert_eq!(renumber(&image(6), &moved), Ok(image(6)));
    }

    #[test]
    fn what_is_no_image_is_an_error_and_nothing_else() {
        let (whole, moved) = (image(5), moved(&numbers(&[("eth1", 5)]), &numbers(&[("eth1", 9)])));
        for length in 0..whole.len() {
            // Between messages an image may end.
            let _ = renumber(&whole[..length], &moved);
        }
        for at in MAGIC..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] = 0xff;
            let _ = renumber(&damaged, &moved);
        }
        assert!(renumber(b"short", &moved).is_err());
    }

    #[test]
    fn images_that_need_no_other_numbers_are_used_as_they_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let images = folder.path().join("criu");
        fs::create_dir(&images).expect("a folder");
        fs::write(images.join(FILES), image(u64::from(u32::MAX))).expect("writes");
        fs::write(images.join("pages-1.img"), "pages").expect("writes");
        let (mut then, here) = (present().expect("interfaces"), folder.path().join(HERE));
        assert_eq!(for_this_machine(&images, &then), Ok(images.clone()));
        // The loopback interface had another number.
        then.insert("lo".into(), u32::MAX);
        assert_eq!(for_this_machine(&images, &then), Ok(here.clone()));
        assert_eq!(fs::read(here.join(FILES)).expect("it is there"), image(1));
        assert_eq!(fs::read(here.join("pages-1.img")).expect("it is there"), b"pages");
        assert_eq!(fs::read(images.join(FILES)).expect("it is there"), image(u64::from(u32::MAX)));
        forget(&images);
        assert!(!here.exists() && images.exists());
    }
}
