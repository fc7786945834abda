//! What a file says about how it is run: ELF headers, and the first line of scripts.

use object::{
    Endianness, elf,
    read::elf::{FileHeader, ProgramHeader},
};
use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read, Seek},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// Largest part of a file that is read for its headers and interpreter.
const HEADER_BYTES_MAX: u64 = 1 << 16;

/// The kinds of file that the kernel can be asked to run.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// ELF with a dynamic loader.
    Dynamic {
        /// The loader that the file names.
        loader: PathBuf,
    },
    /// ELF without a dynamic loader: it is linked statically.
    Static,
    /// Text that starts with `#!`: the interpreter and its one argument.
    Script {
        /// Interpreter.
        interpreter: PathBuf,
        /// Everything after the interpreter, as the kernel passes it: one argument.
        argument: Option<String>,
    },
    /// Anything else, which the kernel cannot run.
    Other,
}

/// Finds the kind of a file by its beginning.
pub fn kind(path: &Path) -> io::Result<Kind> {
    let mut file = File::open(path)?;
    let mut head = Vec::new();
    file.by_ref().take(HEADER_BYTES_MAX).read_to_end(&mut head)?;
    if head.starts_with(b"#!") {
        return Ok(script(&head[2..]));
    }
    if !head.starts_with(b"\x7fELF") {
        return Ok(Kind::Other);
    }
    let loader = match head.get(4) {
        Some(2) => loader::<elf::FileHeader64<Endianness>>(&head, &mut file),
        Some(1) => loader::<elf::FileHeader32<Endianness>>(&head, &mut file),
        _ => return Ok(Kind::Other),
    };
    Ok(match loader {
        Ok(Some(loader)) => Kind::Dynamic { loader },
        Ok(None) => Kind::Static,
        Err(_) => Kind::Other,
    })
}

fn script(line: &[u8]) -> Kind {
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = line.trim_ascii();
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    let (interpreter, argument) = line.split_at(end);
    if interpreter.is_empty() {
        return Kind::Other;
    }
    let argument = String::from_utf8_lossy(argument.trim_ascii()).into_owned();
    Kind::Script {
        interpreter: PathBuf::from(OsStr::from_bytes(interpreter)),
        argument: (!argument.is_empty()).then_some(argument),
    }
}

fn loader<H: FileHeader<Endian = Endianness>>(
    head: &[u8],
    file: &mut File,
) -> Result<Option<PathBuf>, object::Error> {
    let header = H::parse(head)?;
    let endian = header.endian()?;
    for segment in header.program_headers(endian, head)? {
        if segment.p_type(endian) != elf::PT_INTERP {
            continue;
        }
        let offset: u64 = segment.p_offset(endian).into();
        let size: u64 = segment.p_filesz(endian).into();
        let name = read_at(file, offset, size).unwrap_or_default();
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        return Ok(Some(PathBuf::from(OsStr::from_bytes(name))));
    }
    Ok(None)
}

fn read_at(file: &mut File, offset: u64, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(io::SeekFrom::Start(offset))?;
    file.take(size.min(libc::PATH_MAX as u64)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn kind_of(bytes: &[u8]) -> Kind {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, bytes).unwrap();
        kind(&path).unwrap()
    }

    // execve(2): `#!interpreter [optional-arg]`, where everything after the interpreter is one argument.
    #[test]
    fn scripts_as_execve_reads_them() {
        let script = |interpreter: &str, argument: Option<&str>| Kind::Script {
            interpreter: interpreter.into(),
            argument: argument.map(str::to_owned),
        };
        assert_eq!(kind_of(b"#!/bin/sh\necho"), script("/bin/sh", None));
        assert_eq!(
            kind_of(b"#! /usr/bin/env  -S python3 -u\n"),
            script("/usr/bin/env", Some("-S python3 -u"))
        );
        assert_eq!(kind_of(b"#!/bin/sh"), script("/bin/sh", None));
        assert_eq!(kind_of(b"#!\n/bin/sh"), Kind::Other);
    }

    #[test]
    fn this_test_is_dynamic_and_its_loader_exists() {
        let Kind::Dynamic { loader } = kind(&std::env::current_exe().unwrap()).unwrap() else {
            return eprintln!("skipped: the test is linked statically");
        };
        assert!(loader.is_absolute() && loader.exists(), "{}", loader.display());
    }

    #[test]
    fn damaged_files_are_no_programs() {
        for bytes in [
            &b""[..],
            b"hello",
            b"\x7fELF",
            b"\x7fELF\x02\x01\x01",
            b"\x7fELF\x09aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ] {
            assert_eq!(kind_of(bytes), Kind::Other, "{bytes:?}");
        }
        // A real ELF file that was cut, so that its program headers lie outside of it.
        let mut bytes = fs::read("/proc/self/exe").unwrap();
        bytes.truncate(64);
        bytes[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(kind_of(&bytes), Kind::Other);
    }
}
