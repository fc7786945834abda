//! What a program calls of its libraries.

use object::{
    Endianness,
    elf::{FileHeader64, SHT_DYNSYM},
    read::{ReadCache, ReadRef, elf::FileHeader, elf::Sym},
};
use std::{fs::File, path::Path};

/// Names of functions and variables that a program takes from libraries; none if it is no such program.
pub(crate) fn imports(file: &Path) -> Vec<String> {
    let Ok(file) = File::open(file) else { return Vec::new() };
    let cache = ReadCache::new(file);
    undefined::<FileHeader64<Endianness>>(&cache).unwrap_or_default()
}

fn undefined<'a, H: FileHeader<Endian = Endianness>>(
    file: impl ReadRef<'a>,
) -> Result<Vec<String>, object::Error> {
    let header = H::parse(file)?;
    let endian = header.endian()?;
    let symbols = header.sections(endian, file)?.symbols(endian, file, SHT_DYNSYM)?;
    let names = symbols.iter().filter(|symbol| symbol.is_undefined(endian)).map(|symbol| {
        let name = symbol.name(endian, symbols.strings()).unwrap_or_default();
        String::from_utf8_lossy(name).into_owned()
    });
    Ok(names.collect())
}
