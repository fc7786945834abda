//! MPI jobs on a fleet: which MPI a program uses, what carries its messages, what its launcher must know of
//! the hosts, and starting it.
//!
//! [`Finder`] finds a program's MPI, [`choose`] its transport, [`facts`] what there is to know of the hosts.
//! A [`JobRequest`] becomes the launcher's command ([`JobRequest::prepare`]), which [`PreparedJob::run`]
//! runs.
#![forbid(unsafe_code)]

mod error;
mod facts;
mod finder;
mod prepare;
mod setup;
mod transport;
mod version;

pub use error::RunError;
pub use facts::{check_one_network, facts, lab_facts};
pub use finder::{Finder, own_environment};
pub use prepare::{JobRequest, PreparedJob, job_of, shared_paths};
pub use setup::{FACTS_COMMAND, JobFacts, OTHER_FILE, is_same_cabling};
pub use transport::{Choice, Wanted, choose, own_provider};
