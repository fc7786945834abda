//! Functions of OpenMP programs that cannot work on several hosts.

/// Why a program that calls this function cannot be spread.
pub(crate) fn misfit(function: &str) -> Option<&'static str> {
    match function {
        "pthread_create" | "thrd_create" => Some(THREADS),
        _ if function.starts_with("_ZNSt6thread15_M_start_thread") => Some(THREADS),
        "fork" | "_Fork" => Some(FORK),
        "__atomic_load" | "__atomic_store" | "__atomic_exchange" | "__atomic_compare_exchange" => {
            Some(ATOMICS)
        }
        _ if function.starts_with("_ZNSt10_Sp_locker") => Some(ATOMICS),
        "omp_fulfill_event" | "omp_fulfill_event_" => Some(EVENTS),
        // On x86-64 the library has an instruction for these.
        _ if cfg!(target_arch = "aarch64") && is_of_16(function) => Some(ATOMICS),
        _ => None,
    }
}

/// Whether this is a function of GCC's libatomic for variables of 16 bytes.
fn is_of_16(function: &str) -> bool {
    function.starts_with("__atomic_") && function.ends_with("_16")
}

/// Threads that are not OpenMP's.
const THREADS: &str = "it starts threads of its own (pthread_create, std::thread), and what these allocate \
    is not there on other hosts; make them OpenMP's, or use --unchecked if they have nothing to do with the \
    parallel regions";
/// Tasks run where they are made, and nobody waits for those that are over later.
const EVENTS: &str = "it has tasks that are over when it says so (detach, omp_fulfill_event), which is not \
    there across hosts";
/// Copies of the process.
const FORK: &str = "it calls fork, and a child has none of the memory that hosts share; start programs by \
    system, popen or posix_spawn, or use --unchecked if it does not come to that call";
/// Atomic objects whose locks lie in libraries: GCC's libatomic, and the C++ library.
const ATOMICS: &str = "it has atomic variables that are too large for the processor, or atomic shared \
    pointers: their locks lie in libraries, and keep no other host out; use a mutex or a critical section, \
    or --unchecked if no two threads use one of them";

#[cfg(test)]
mod tests {
    use super::misfit;

    #[test]
    fn functions_that_cannot_work_are_known_by_their_names() {
        assert!(misfit("__atomic_compare_exchange").is_some_and(|why| why.contains("too large")));
        assert_eq!(misfit("__atomic_compare_exchange_8"), None, "processors have this");
        assert!(misfit("omp_fulfill_event").is_some_and(|why| why.contains("detach")));
        assert_eq!(misfit("omp_get_thread_num"), None);
    }
}
