//! MPI jobs on a fleet: which MPI a program uses, what carries its messages, what its launcher must know of
//! the hosts, and starting it.
//!
//! [`Finder`] finds a program's MPI, [`choose`] its transport, [`facts`] what there is to know of the hosts.
//! A [`JobRequest`] becomes the launcher's command ([`JobRequest::prepare`]), which [`PreparedJob::run`]
//! runs. For the resident runtime a [`WorkRequest`] becomes what its daemons need to start the ranks
//! themselves, and a [`Printer`] shows what ranks have written. A [`PlainRequest`] is a job of a program
//! without an MPI, whose ranks find each other by their environment.
#![forbid(unsafe_code)]

mod child;
mod deploy;
mod error;
mod facts;
mod finder;
mod names;
mod plain;
mod prepare;
mod printer;
mod process;
mod random;
mod setup;
mod trace;
mod transport;
mod version;
mod work;

pub use deploy::{copy_to_all, lacking};
pub use error::RunError;
pub use facts::{check_one_network, facts, lab_facts};
pub use finder::{Finder, own_environment};
pub use plain::{PlainJob, PlainPart, PlainRequest};
pub use prepare::{JobRequest, KeyAdvice, PreparedJob, add_key, job_of, key_advice, shared_paths};
pub use printer::{Printer, ask_for_tags};
pub use random::digits as random_digits;
pub use random::run_name;
pub use setup::{FACTS_COMMAND, JobFacts, OTHER_FILE, Readiness, is_same_cabling, ready_cluster};
pub use trace::{PARTS_COMMAND, Recording, TraceError, give_parts};
pub use transport::{Choice, Wanted, choose, choose_from, own_provider};
pub use work::{Prepared, Resident, WorkRequest};
