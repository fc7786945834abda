//! The four tables.

use crate::{
    columns::{HOSTS, JOBS, NICS, RANKS},
    rows::{Grid, Row},
    scope::Scope,
};
use tasuki_load::Load;
use tasuki_terminal::{Rows, table};

/// One of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Hosts: processors, memory, temperature, traffic.
    Hosts,
    /// NICs: rates, share of the line, errors, losses.
    Nics,
    /// Processes that use Tasuki.
    Ranks,
    /// Jobs: their processes added up.
    Jobs,
}

impl View {
    /// All of them, in the order of their keys.
    pub const ALL: [Self; 4] = [Self::Hosts, Self::Nics, Self::Ranks, Self::Jobs];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hosts => "hosts",
            Self::Nics => "NICs",
            Self::Ranks => "ranks",
            Self::Jobs => "jobs",
        }
    }

    /// Its place in [`Self::ALL`].
    pub(crate) fn number(self) -> usize {
        Self::ALL.iter().position(|view| *view == self).unwrap_or(0)
    }

    /// Number of columns that name a row of a plain table.
    fn keys(self) -> usize {
        match self {
            Self::Hosts => 1,
            Self::Nics | Self::Ranks | Self::Jobs => 2,
        }
    }

    /// Number of columns at the left that hold texts.
    fn texts(self) -> usize {
        match self {
            Self::Hosts => 1,
            Self::Jobs => 2,
            Self::Nics => 4,
            Self::Ranks => 5,
        }
    }

    /// What it says if it has no row.
    pub(crate) fn nothing(self) -> &'static str {
        match self {
            Self::Hosts => "no host has answered yet",
            Self::Nics => "no NIC",
            Self::Ranks | Self::Jobs => "no process uses Tasuki; `tasuki run` starts one",
        }
    }

    /// Its rows, limited to a part of the fleet.
    pub(crate) fn grid(self, load: &Load, scope: Option<&Scope>) -> Grid {
        match self {
            Self::Hosts => {
                let hosts =
                    load.hosts.iter().filter(|host| scope.is_none_or(|scope| scope.has_host(host, load)));
                Grid::new(HOSTS, hosts, |host| Some(Scope::Host(host.host.clone())))
            }
            Self::Nics => {
                let nics = load.nics.iter().filter(|nic| scope.is_none_or(|scope| scope.has_nic(nic, load)));
                Grid::new(NICS, nics, |nic| {
                    let (host, to) = (nic.host.clone(), nic.to.clone());
                    Some(Scope::Cable { host, nic: nic.nic.clone(), to })
                })
            }
            Self::Ranks => {
                let ranks =
                    load.ranks.iter().filter(|rank| scope.is_none_or(|scope| scope.has_rank(rank, load)));
                Grid::new(RANKS, ranks, |rank| Some(Scope::Host(rank.host.clone())))
            }
            Self::Jobs => {
                let jobs = load.jobs.iter().filter(|job| scope.is_none_or(|scope| scope.has_job(job, load)));
                Grid::new(JOBS, jobs, |job| {
                    Some(Scope::Job { job: job.job.clone(), program: job.program.clone() })
                })
            }
        }
    }

    /// A plain table of everything, for output that is no terminal. Columns of which nothing is known are
    /// left out.
    pub fn table(self, load: &Load) -> Rows {
        let grid = self.grid(load, None);
        let mut rows = table([]);
        rows.set_header(&grid.titles).keys(self.keys()).right_from(self.texts());
        let texts = |row: &Row| row.cells.iter().map(|cell| cell.plain()).collect::<Vec<_>>();
        for row in &grid.rows {
            rows.add_row(texts(row));
        }
        rows.without_empty_columns();
        rows
    }
}
