//! C programs against `tasuki.h` and the library, as their authors would build them.

mod build;
mod checkpoint;
mod pages;
mod programs;
mod run;
mod shared;
