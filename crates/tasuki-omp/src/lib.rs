//! OpenMP programs on several hosts: `libtasuki_omp.so`, loaded before libgomp or LLVM's libomp, and libc.
//!
//! Every host runs the same program. The process of rank 0 runs `main`; the others wait in
//! [`start`] and run what parallel regions give them. Data, heap and the stacks of the program's threads are
//! shared memory (`tasuki-shared`), at the same addresses everywhere, so that pointers mean the same: address
//! randomisation is switched off, and hosts whose program or libraries lie elsewhere are refused.
//!
//! * [`start`]: from the loader to `main`, with [`arguments`] and [`image`].
//! * [`alloc`], [`heap`]: `malloc` and its relatives give shared memory to the program's threads.
//! * [`stack`]: the program runs on shared stacks, this library on private ones. A thread that holds a lock
//!   of shared memory must not touch shared memory, and a stack is touched by every call.
//! * [`team`], [`work`], [`lock`]: parallel regions, what is shared out in them, and mutual exclusion;
//!   [`doacross`]: iterations that wait for one another.
//! * [`posix`], [`statics`]: locks of pthreads and C++, at which threads of several hosts wait for one
//!   another.
//! * [`loan`]: a thread's own variables that others are shown.
//! * [`profile`]: where the time goes, if that is asked for.
//! * [`gomp`], [`tasks`], [`kmpc`], [`omp`]: the functions that programs call, as gcc 12, LLVM 14 and `omp.h`
//!   know them; [`missing`]: those that are not there.
//!
//! The interface of OpenMP has no handle: the process is the program, and what belongs to it is in one place
//! ([`world`]), set once.

mod alloc;
mod arguments;
mod call;
mod doacross;
mod gomp;
mod heap;
mod image;
mod kmpc;
mod loan;
mod locals;
mod lock;
mod loops;
mod missing;
mod omp;
mod plan;
mod posix;
mod profile;
mod stack;
mod start;
mod statics;
mod tasks;
mod team;
mod thread;
mod variables;
mod work;
mod world;
