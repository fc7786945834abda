//! The place of its program at which a rank is: the MPI function that it has called, and from where.

use crate::frame::{Frame, Thread};
use serde::Serialize;

/// What stands for a function of an MPI that keeps no symbol of it.
pub(crate) const UNKNOWN: &str = "a function of MPI";

/// A place of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Place {
    /// The MPI function that was called, by its name in C; `None`: the program is not in MPI.
    pub call: Option<String>,
    /// The program's own function that is running, or that has made the call; `None`: no symbol is known.
    pub function: Option<String>,
    /// File and line there, or the library; `None`: unknown.
    pub source: Option<String>,
}

impl Place {
    /// Of a process with these threads. The first thread counts, unless another one alone is in MPI.
    pub fn of(threads: &[Thread]) -> Self {
        let places = || threads.iter().map(|thread| Self::of_thread(&thread.frames));
        let first = places().next().unwrap_or_default();
        let mut calls = places().filter(|place| place.call.is_some());
        if first.call.is_some() {
            return first;
        }
        match (calls.next(), calls.next()) {
            (Some(only), None) => only,
            _ => first,
        }
    }

    fn of_thread(frames: &[Frame]) -> Self {
        let call = call_at(frames);
        let caller = match call {
            Some(at) => frames.get(at + 1),
            // The innermost function of the program itself: what it has called in libraries says less.
            None => frames
                .iter()
                .find(|frame| frame.library.is_none() && frame.file.is_some())
                .or_else(|| frames.iter().find(|frame| frame.function.is_some())),
        };
        Self {
            call: call.map(|at| {
                let called = || mpi_name(frames.get(at + 1)?.calls.as_deref()?);
                mpi_name(frames[at].name()).or_else(called).unwrap_or_else(|| UNKNOWN.into())
            }),
            function: caller.and_then(|frame| frame.function.clone()),
            source: caller.and_then(Frame::source),
        }
    }
}

/// Where among the frames the function of MPI is that the program has called: the outermost one, as MPIs call
/// such functions themselves. Some have no symbol, or no frame of their own: then their library says that it
/// is one.
fn call_at(frames: &[Frame]) -> Option<usize> {
    let outermost = |is_it: fn(&Frame) -> bool| frames.iter().rposition(is_it);
    outermost(|frame| mpi_name(frame.name()).is_some()).or_else(|| outermost(is_of_an_mpi))
}

/// A function of the program that has been called from within MPI.
pub(crate) fn called_back(frames: &[Frame]) -> Option<&Frame> {
    let call = call_at(frames)?;
    frames[..call]
        .iter()
        .find(|frame| frame.library.is_none() && frame.function.is_some() && mpi_name(frame.name()).is_none())
}

/// Whether a function is one of an MPI library (Open MPI, MPICH, Intel MPI).
fn is_of_an_mpi(frame: &Frame) -> bool {
    let library = frame.library.as_deref().and_then(|path| path.rsplit('/').next());
    library.is_some_and(|name| name.starts_with("libmpi"))
}

/// The name in C of an MPI function, if this symbol is one: `MPI_Recv` and `PMPI_Recv`, in Fortran
/// `mpi_recv_`, `mpi_recv__`, `PMPI_RECV`, `mpi_recv_f08_` and the like (MPI 4.1, sections 15.2 and 19.1).
fn mpi_name(symbol: &str) -> Option<String> {
    let symbol = symbol.split('@').next().unwrap_or(symbol).trim_end_matches('_');
    let lower = symbol.to_ascii_lowercase();
    let rest = lower.strip_prefix('p').filter(|rest| rest.starts_with("mpi_")).unwrap_or(&lower);
    let name = rest.strip_prefix("mpi_")?;
    let name = name.strip_suffix("_f08ts").or_else(|| name.strip_suffix("_f08")).unwrap_or(name);
    let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if name.is_empty() || !is_word {
        return None;
    }
    // C's names begin with a capital and go on without: `MPI_Type_create_struct`; there are a few exceptions,
    // of which `MPI_File`'s and the like do not wait for anybody.
    let mut letters = name.chars();
    let first = letters.next()?.to_ascii_uppercase();
    Some(format!("MPI_{first}{}", letters.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, source: Option<(&str, u32)>, library: Option<&str>) -> Frame {
        Frame {
            function: Some(function.into()),
            file: source.map(|(file, _)| file.into()),
            line: source.map(|(_, line)| line),
            library: library.map(str::to_owned),
            calls: None,
        }
    }

    #[test]
    fn names_are_those_of_c_in_every_language() {
        for (symbol, name) in [
            ("MPI_Recv", "MPI_Recv"),
            ("PMPI_Recv", "MPI_Recv"),
            ("mpi_recv_", "MPI_Recv"),
            ("pmpi_recv__", "MPI_Recv"),
            ("PMPI_ALLREDUCE", "MPI_Allreduce"),
            ("mpi_waitall_f08_", "MPI_Waitall"),
            ("PMPI_Win_fence", "MPI_Win_fence"),
        ] {
            assert_eq!(mpi_name(symbol).as_deref(), Some(name), "{symbol}");
        }
        for symbol in
            ["MPIR_Wait", "MPID_Recv", "main", "MPI_", "ompi_request_wait", "mpi_recv_::inner", "??"]
        {
            assert_eq!(mpi_name(symbol), None, "{symbol}");
        }
    }

    #[test]
    fn the_outermost_call_and_its_caller_count() {
        let frames = [
            frame("poll", None, Some("libc.so.6")),
            frame("PMPI_Wait", None, Some("libmpi.so.40")),
            frame("MPI_Barrier", None, Some("libmpi.so.40")),
            frame("step", Some(("/src/heat.c", 40)), None),
            frame("main", Some(("/src/heat.c", 80)), None),
        ];
        let place = Place::of(&[Thread { frames: frames.to_vec(), ..Thread::default() }]);
        let words = (place.call.as_deref(), place.function.as_deref(), place.source.as_deref());
        assert_eq!(words, (Some("MPI_Barrier"), Some("step"), Some("heat.c:40")));
    }

    #[test]
    fn functions_that_mpi_calls_are_found() {
        let mpi = |name: &str| frame(name, None, Some("libmpi.so.12"));
        let reduces = [
            frame("add", Some(("a.c", 3)), None),
            mpi("MPIR_Reduce"),
            mpi("MPI_Reduce"),
            frame("main", None, None),
        ];
        assert_eq!(called_back(&reduces).map(Frame::name), Some("add"));
        assert_eq!(called_back(&reduces[1..]), None);
        assert_eq!(called_back(&reduces[3..]), None);
    }

    #[test]
    fn a_library_without_symbols_is_known_by_its_name() {
        let unknown = Frame { library: Some("/opt/lib/libmpi.so.12".into()), ..Frame::default() };
        let of = |calls: Option<&str>| {
            let step = Frame { calls: calls.map(str::to_owned), ..frame("step", None, None) };
            let frames = vec![frame("read", None, Some("libfabric.so")), unknown.clone(), step];
            Place::of(&[Thread { frames, ..Thread::default() }])
        };
        let place = of(None);
        assert_eq!((place.call.as_deref(), place.function.as_deref()), (Some(UNKNOWN), Some("step")));
        assert_eq!(of(Some("MPI_Waitall")).call.as_deref(), Some("MPI_Waitall"), "the call says which");
        assert_eq!(of(Some("memcpy")).call.as_deref(), Some(UNKNOWN));
    }

    #[test]
    fn a_rank_outside_mpi_is_in_its_own_innermost_function() {
        let computes = Thread {
            frames: vec![
                frame("nanosleep", None, Some("libc.so.6")),
                frame("relax", Some(("heat.c", 12)), None),
                frame("main", Some(("heat.c", 80)), None),
            ],
            ..Thread::default()
        };
        let place = Place::of(std::slice::from_ref(&computes));
        assert_eq!((place.call, place.function.as_deref()), (None, Some("relax")));
        let helper = Thread { frames: vec![frame("MPI_Send", None, None)], ..Thread::default() };
        let two = Place::of(&[computes.clone(), helper.clone()]);
        assert_eq!(two.call.as_deref(), Some("MPI_Send"), "another thread alone is in MPI");
        let three = Place::of(&[computes, helper.clone(), helper]);
        assert_eq!(three.function.as_deref(), Some("relax"), "which of two threads is meant is not known");
    }
}
