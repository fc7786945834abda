//! Functions of libgomp that are not here: what libgomp itself would do is wrong across hosts, as it thinks
//! that all threads are its own. `tasuki omp` refuses programs that call them, and those that call functions
//! of LLVM's library that are not here.

use crate::stack::on_private;

/// Ends the program, and says what it has called.
pub fn missing(what: &str) {
    on_private(|| {
        eprintln!(
            "tasuki omp: the program calls {what}, which is not there across hosts; run it on one host \
             without `tasuki omp`"
        );
        // SAFETY: the call takes a number and does not return.
        unsafe { libc::_exit(1) }
    });
}

/// Functions that end the program, and say which they were. Beside each is a name by which `tasuki omp` knows
/// before it starts a program that it is missing.
macro_rules! all_missing {
    ($($name:ident)*) => {$(
        const _: () = {
            #[unsafe(export_name = concat!("tasuki_omp_lacks_", stringify!($name)))]
            static LACKS: u8 = 0;
        };

        #[unsafe(no_mangle)]
        extern "C" fn $name() {
            missing(stringify!($name));
        }
    )*};
}

all_missing! {
    GOMP_loop_start GOMP_loop_ordered_start GOMP_loop_ull_start GOMP_loop_ull_ordered_start
    GOMP_loop_doacross_start GOMP_loop_ull_doacross_start GOMP_sections2_start
    GOMP_parallel_loop_runtime_start GOMP_workshare_task_reduction_unregister
    GOMP_parallel_start GOMP_parallel_end GOMP_parallel_loop_dynamic_start
    GOMP_parallel_loop_static_start GOMP_parallel_loop_guided_start GOMP_parallel_sections_start
}
