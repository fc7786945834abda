//! Functions of libgomp that are not here: what libgomp itself would do is wrong across hosts, as it thinks
//! that all threads are its own. Those of LLVM's library are missing by their names, which `tasuki omp` looks
//! up.

use crate::stack::on_private;

/// Functions that end the program, and say which they were.
macro_rules! missing {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() {
            on_private(|| {
                eprintln!(
                    "tasuki omp: the program calls {}, which is not there across hosts; \
                     run it on one host without `tasuki omp`",
                    stringify!($name)
                );
                // SAFETY: the call takes a number and does not return.
                unsafe { libc::_exit(1) }
            });
        }
    )*};
}

missing! {
    GOMP_loop_start GOMP_loop_ordered_start GOMP_loop_ull_start GOMP_loop_ull_ordered_start
    GOMP_loop_doacross_static_start GOMP_loop_doacross_dynamic_start GOMP_loop_doacross_guided_start
    GOMP_loop_doacross_runtime_start GOMP_loop_doacross_start GOMP_loop_ull_doacross_static_start
    GOMP_loop_ull_doacross_dynamic_start GOMP_loop_ull_doacross_guided_start
    GOMP_loop_ull_doacross_runtime_start GOMP_doacross_post GOMP_doacross_wait GOMP_doacross_ull_post
    GOMP_doacross_ull_wait GOMP_loop_end_cancel GOMP_barrier_cancel GOMP_sections_end_cancel
    GOMP_sections2_start GOMP_parallel_reductions GOMP_taskgroup_reduction_register
    GOMP_taskgroup_reduction_unregister GOMP_task_reduction_remap GOMP_workshare_task_reduction_unregister
    GOMP_taskloop_ull GOMP_loop_ull_runtime_start GOMP_loop_ull_ordered_runtime_start
    GOMP_loop_ull_runtime_next GOMP_loop_ull_ordered_runtime_next GOMP_scope_start GOMP_teams_reg
    GOMP_parallel_start GOMP_parallel_end GOMP_parallel_loop_dynamic_start
    GOMP_parallel_loop_static_start GOMP_parallel_loop_guided_start GOMP_parallel_sections_start
}
