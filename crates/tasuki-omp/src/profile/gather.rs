//! The records of all processes come to rank 0, through shared memory, and become the profile.

use std::ffi::{CStr, OsStr, c_int, c_void};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use tasuki_profile::{Area, Kind, Mapped, Profile, Program, Record};

use super::Profiler;
use crate::locals::must;
use crate::world::{Control, Slot, TopPage, World};

/// Tells rank 0 what was recorded here; rank 0 says what all have recorded. All processes call this at the
/// end.
pub fn gather(world: &World) {
    let Some(profiler) = &world.profiler else { return };
    let record = profiler.finish();
    let rank = world.shared.rank();
    if rank > 0 {
        leave_for_rank_0(world, &record.to_bytes());
    }
    must(world.shared.barrier());
    if rank == 0 {
        let mut records = vec![record];
        records.extend((1..world.shared.size()).filter_map(|rank| fetch(world, rank)));
        say(world, profiler, &records);
    }
}

fn leave_for_rank_0(world: &World, bytes: &[u8]) {
    let memory = world.heap().take(bytes.len(), 16);
    if memory.is_null() {
        return;
    }
    // SAFETY: the memory was just given, and has so many bytes.
    unsafe { memory.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    let parcel = world.parcel(world.shared.rank());
    parcel.bytes.store(bytes.len(), Ordering::Relaxed);
    parcel.address.store(memory as usize, Ordering::Release);
}

fn fetch(world: &World, rank: u32) -> Option<Record> {
    let parcel = world.parcel(rank);
    let address = parcel.address.load(Ordering::Acquire);
    if address == 0 {
        return None;
    }
    // SAFETY: that process has put so many bytes there, before the barrier, and does not touch them any more.
    let bytes =
        unsafe { std::slice::from_raw_parts(address as *const u8, parcel.bytes.load(Ordering::Relaxed)) };
    Record::from_bytes(bytes)
}

/// Says where the time went.
fn say(world: &World, profiler: &Profiler, records: &[Record]) {
    let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    let name = program.file_name().map_or("the program".into(), OsStr::to_string_lossy);
    let names = Program::load(files(&program));
    let profile = Profile::of(&name, records, &names, &areas(world));
    let mut told = tasuki_profile::print(&profile);
    if records.len() < world.shared.size() as usize {
        told += "tasuki omp: a process had no memory left for what it recorded; it is not in the profile\n";
    }
    if profile.arrays.iter().any(|array| array.seconds > 0.0) && !names.has_lines() {
        told += "Lines are known of programs that were built with -g as well.\n";
    }
    let file = Path::new(&profiler.file);
    if profiler.file != "-"
        && let Err(error) = write(file, &profile)
    {
        told += &format!("tasuki omp: cannot write {}: {error}\n", file.display());
    }
    // Standard error may be closed: nothing is left to be told then.
    let _ = std::io::stderr().write_all(told.as_bytes());
}

fn write(file: &Path, profile: &Profile) -> std::io::Result<()> {
    let json = file.extension() == Some(OsStr::new("json"));
    let text = if json { tasuki_profile::json(profile) } else { tasuki_profile::page(profile) };
    std::fs::write(file, text)
}

/// What lies in the shared memory beside what the program has named.
fn areas(world: &World) -> Vec<Area> {
    let control = world.shared.base() as u64;
    let area = |start: u64, bytes: usize, kind: Kind, name: String| Area {
        range: start..start + bytes as u64,
        kind,
        name,
    };
    let slots = control + std::mem::offset_of!(Control, slots) as u64;
    let top = control + std::mem::offset_of!(Control, top) as u64;
    let mut areas = vec![
        area(slots, size_of::<Slot>() * crate::world::SLOTS as usize, Kind::Schedule, "shared loops".into()),
        area(top, size_of::<TopPage>(), Kind::Heap, "the allocator".into()),
        area(control, size_of::<Control>(), Kind::Other, "start and end".into()),
    ];
    for thread in 0..world.threads() {
        let stack = world.stacks.of(thread as usize);
        areas.push(area(stack.start as u64, stack.len(), Kind::Stack, format!("stack of thread {thread}")));
    }
    let heap = world.heap().range();
    areas.push(area(heap.start as u64, heap.len(), Kind::Small, "small allocations".into()));
    areas
}

/// The program and its libraries, the program first.
fn files(program: &Path) -> Vec<Mapped> {
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, into: *mut c_void) -> c_int {
        // SAFETY: the loader gives its own structures, and `into` is that of `files`.
        let (info, into) = unsafe { (&*info, &mut *into.cast::<Vec<Mapped>>()) };
        // SAFETY: as above.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        // SAFETY: as above; the name is a string.
        let name = unsafe { CStr::from_ptr(info.dlpi_name) };
        let is_code =
            |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0;
        let code = headers.iter().filter(is_code).map(|header| {
            let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
            start..start + header.p_memsz
        });
        let path = PathBuf::from(OsStr::from_bytes(name.to_bytes()));
        let code: Vec<_> = code.collect();
        let own = files as fn(&Path) -> Vec<Mapped> as usize as u64;
        let is_runtime = code.iter().any(|range| range.contains(&own));
        into.push(Mapped { path, bias: info.dlpi_addr, code, is_runtime });
        0
    }
    let mut files: Vec<Mapped> = Vec::new();
    // SAFETY: the function is called with the list, before this returns.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut files).cast()) };
    // The loader gives the program first, without a name.
    if let Some(first) = files.first_mut() {
        first.path = program.to_owned();
    }
    files
}
