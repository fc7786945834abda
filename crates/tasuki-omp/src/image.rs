//! Where the loader has laid the program, and what it has written into its data.

use std::ffi::{c_int, c_void};
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

use tasuki_shared::PAGE;

/// What is looked for in the program's image.
#[derive(Default)]
struct Found {
    /// What was added to all addresses of the file.
    base: usize,
    data: Range<usize>,
    /// The list by which the loader finds its tables.
    dynamic: Option<usize>,
}

/// An entry of the list, and one of a table (`Elf64_Dyn` and `Elf64_Rela` of `elf.h`).
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: u64,
}

#[repr(C)]
struct Relocation {
    offset: u64,
    info: u64,
    _addend: i64,
}

/// Tags of the list: the tables, and how many bytes they have.
const TABLES: [(i64, i64); 2] = [(DT_JMPREL, DT_PLTRELSZ), (DT_RELA, DT_RELASZ)];
const DT_PLTRELSZ: i64 = 2;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_JMPREL: i64 = 23;

/// Kinds of entries for which the loader writes the address of a function, or of another symbol: `R_..._64`,
/// `GLOB_DAT`, `JUMP_SLOT` and `IRELATIVE` of the processor's ABI.
#[cfg(target_arch = "x86_64")]
const ADDRESSES: [u32; 4] = [1, 6, 7, 37];
#[cfg(target_arch = "aarch64")]
const ADDRESSES: [u32; 4] = [257, 1025, 1026, 1032];

fn look() -> Found {
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, into: *mut c_void) -> c_int {
        // SAFETY: the loader gives its own structures, and `into` is that of the function around this one.
        let (info, into) = unsafe { (&*info, &mut *into.cast::<Found>()) };
        // SAFETY: as above.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let place = |header: &libc::Elf64_Phdr| {
            let start = info.dlpi_addr as usize + header.p_vaddr as usize;
            start..start + header.p_memsz as usize
        };
        let of_type = |kind: u32| headers.iter().filter(move |header| header.p_type == kind);
        let mut writable = of_type(libc::PT_LOAD).filter(|header| header.p_flags & libc::PF_W != 0);
        if let Some(data) = writable.next_back() {
            into.data = place(data);
        }
        if let Some(fixed) = of_type(libc::PT_GNU_RELRO).next() {
            into.data.start = into.data.start.max(place(fixed).end / PAGE * PAGE);
        }
        into.base = info.dlpi_addr as usize;
        into.dynamic = of_type(libc::PT_DYNAMIC).next().map(|header| place(header).start);
        // The first object is the program.
        1
    }
    let mut found = Found::default();
    // SAFETY: the function is called with the place of `found`, before this returns.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    found.data = found.data.start / PAGE * PAGE..found.data.end.next_multiple_of(PAGE);
    found
}

/// The pages of the program's data that can be written: initialised, zero, and those data of its libraries
/// that the linker has moved there. What the loader has made read-only is not among these.
pub fn data() -> Range<usize> {
    look().data
}

/// A number for all addresses that the loader has written into these data. Those of rank 0 are everybody's
/// once the data are shared, and the loader chooses for each host one of several functions that libraries
/// have under one name (`STT_GNU_IFUNC`), by its processor; those of the kernel lie elsewhere in each kernel.
///
/// # Safety
/// The data have not changed since, and no thread changes them.
pub unsafe fn addresses() -> u64 {
    let Found { base, data, dynamic } = look();
    let mut hash = DefaultHasher::new();
    let Some(list) = dynamic else { return hash.finish() };
    let value = |tag: i64| {
        let entries = (0..).map(|at| list + at * size_of::<Dynamic>());
        // SAFETY: the loader keeps the list, which ends with a tag of zero.
        let mut entries =
            entries.map(|at| unsafe { &*(at as *const Dynamic) }).take_while(|one| one.tag != 0);
        entries.find(|one| one.tag == tag).map_or(0, |one| one.value as usize)
    };
    for (table, bytes) in TABLES {
        let (table, count) = (value(table), value(bytes) / size_of::<Relocation>());
        // The loader has added the base to addresses of the list, unless the list may not be written.
        let table = if table < base { base + table } else { table };
        for at in 0..count {
            // SAFETY: the table has so many entries.
            let entry = unsafe { &*((table + at * size_of::<Relocation>()) as *const Relocation) };
            let place = base + entry.offset as usize;
            if ADDRESSES.contains(&(entry.info as u32)) && data.contains(&place) {
                // SAFETY: the loader has written a word there.
                hash.write_u64(unsafe { (place as *const u64).read_unaligned() });
            }
        }
    }
    hash.finish()
}
