//! The resident runtime: jobs that daemons start.

#[path = "../support/mod.rs"]
mod support;

mod checkpoint_copies;
mod checkpoint_nics;
mod checkpoints;
mod jobs;
mod jobs_attended;
mod jobs_batch;
mod jobs_faults;
mod jobs_openmpi;
mod jobs_outlive;
mod jobs_share;
mod jobs_users;
mod openmp;
mod shared_memory;
mod torch;
