//! What a program calls of its libraries, and what these have.

use object::{
    Endianness,
    elf::{FileHeader64, SHT_DYNSYM},
    read::{ReadCache, ReadRef, elf::FileHeader, elf::Sym},
};
use std::{fs::File, path::Path};

/// Names of functions and variables that a program takes from libraries; none if it is no such program.
pub(crate) fn imports(file: &Path) -> Vec<String> {
    names(file, |is_undefined| is_undefined)
}

/// Names of functions and variables that a library has; none if it is no library.
pub(crate) fn exports(file: &Path) -> Vec<String> {
    names(file, |is_undefined| !is_undefined)
}

/// Names of a file for the loader: those that are undefined there, or the others, as `wanted` says.
fn names(file: &Path, wanted: impl Fn(bool) -> bool) -> Vec<String> {
    let Ok(file) = File::open(file) else { return Vec::new() };
    let cache = ReadCache::new(file);
    symbols::<FileHeader64<Endianness>>(&cache, wanted).unwrap_or_default()
}

fn symbols<'a, H: FileHeader<Endian = Endianness>>(
    file: impl ReadRef<'a>,
    wanted: impl Fn(bool) -> bool,
) -> Result<Vec<String>, object::Error> {
    let header = H::parse(file)?;
    let endian = header.endian()?;
    let symbols = header.sections(endian, file)?.symbols(endian, file, SHT_DYNSYM)?;
    let names = symbols.iter().filter(|symbol| wanted(symbol.is_undefined(endian))).map(|symbol| {
        let name = symbol.name(endian, symbols.strings()).unwrap_or_default();
        String::from_utf8_lossy(name).into_owned()
    });
    Ok(names.collect())
}
