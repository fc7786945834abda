//! Programs of real MPIs in labs: results, faults, ends.

#[path = "../support/mod.rs"]
mod support;

mod authenticate;
mod broker;
mod checkpoints;
mod copy;
mod every_mpi;
mod faults;
mod flush;
mod hangs;
mod matched;
mod plan_for;
mod raw_lane;
mod refusals;
mod sends;
mod slurm;
mod streams;
mod suites;
mod survivors;
mod trace;
mod windows;
