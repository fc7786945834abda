//! Processes as threads, hosts as folders: what is saved comes back, whatever dies or is damaged between.

mod format;
mod hall;
mod hosts;
mod job;
mod seeds;
mod single;
