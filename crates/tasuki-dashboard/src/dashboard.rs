//! The dashboard as a whole: it listens, looks at hosts, and answers.

use crate::{
    DashboardError,
    access::{Access, Token},
    collector::Collector,
    findings::Findings,
    history::History,
    layout::Layout,
    site::Site,
    subjects::Subjects,
};
use std::{
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    sync::Arc,
    thread,
};
use tasuki_fleet::{Fleet, host_name};
use tasuki_http::Names;

/// Where the page is, and who may see it.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address to listen at.
    pub listen: SocketAddr,
    /// Names under which browsers open the page, besides addresses, localhost and the machine's own names.
    pub names: Vec<String>,
    /// A file with the token; `None`: one is drawn.
    pub token_file: Option<PathBuf>,
    /// What `tasuki check --json` has printed, whose findings are shown; it may change, or come later.
    pub findings: Option<PathBuf>,
}

/// A dashboard that listens.
#[derive(Debug)]
pub struct Dashboard {
    fleet: Fleet,
    listener: TcpListener,
    address: SocketAddr,
    has_token_file: bool,
    findings: Option<Findings>,
    names: Names,
    site: Site,
}

impl Dashboard {
    /// Begins to listen.
    ///
    /// # Errors
    /// If the address is reached from other machines and no token is given, if the token's file is wrong or
    /// others may read it, or if the address cannot be listened at.
    pub fn open(fleet: Fleet, options: &Options) -> Result<Self, DashboardError> {
        let is_for_others = !options.listen.ip().is_loopback();
        if is_for_others && options.token_file.is_none() {
            return Err(DashboardError::NeedsTokenFile(options.listen));
        }
        let token = match &options.token_file {
            Some(path) => Token::read(path)?,
            None => Token::draw()?,
        };
        let failed = |error| DashboardError::Listen { address: options.listen, error };
        let listener = TcpListener::bind(options.listen).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let layout = serde_json::to_string(&Layout::of(&fleet)).unwrap_or_default();
        let names = Names::of_machine(options.names.iter().cloned().chain([host_name()])).everywhere();
        let site = Site { access: Access { token }, layout, collector: Collector::new() };
        let findings = options.findings.as_deref().map(Findings::of);
        let has_token_file = options.token_file.is_some();
        Ok(Self { fleet, listener, address, has_token_file, findings, names, site })
    }

    /// The address that it listens at.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What to open in a browser. A token that was drawn is a part of it; one of a file is not.
    pub fn url(&self) -> String {
        let token = if self.has_token_file { "TOKEN" } else { self.site.access.token.reveal() };
        format!("http://{}/#{token}", self.address)
    }

    /// Most memory that the history takes, bytes; `None`: which NICs there are is not known before hosts
    /// answer.
    pub fn history_bytes(&self) -> Option<usize> {
        self.fleet.cluster().map(|cluster| History::bytes(Subjects::of_cluster(cluster).columns()))
    }

    /// Looks at hosts once a second and answers browsers, until the process ends.
    ///
    /// # Errors
    /// If no thread can be started, or nothing can be accepted any more.
    pub fn serve(self) -> Result<(), DashboardError> {
        let site = Arc::new(self.site);
        let (looks, fleet, findings) = (Arc::clone(&site), self.fleet, self.findings);
        let started =
            thread::Builder::new().name("looks".into()).spawn(move || looks.collector.run(fleet, findings));
        started.map_err(DashboardError::Thread)?;
        let failed = |error| DashboardError::Listen { address: self.address, error };
        tasuki_http::serve(&self.listener, &self.names, |request| site.answer(request)).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_others_reach_needs_a_token_and_the_printed_address_has_only_a_drawn_one() {
        let open = |listen: &str, token_file: Option<PathBuf>| {
            let listen = listen.parse().expect("an address");
            Dashboard::open(Fleet::Local, &Options { listen, names: Vec::new(), token_file, findings: None })
        };
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
            let refused = open(address, None).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(refused.contains("--token-file") && refused.contains("ssh -L"), "{address}: {refused}");
        }
        let drawn = open("127.0.0.1:0", None).expect("listens");
        let port = drawn.address().port();
        assert!(drawn.url().starts_with(&format!("http://127.0.0.1:{port}/#")) && drawn.url().len() > 50);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        std::fs::write(&path, "0123456789abcdef").expect("writes");
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("changes");
        let given = open("0.0.0.0:0", Some(path)).expect("listens");
        assert!(given.url().ends_with("/#TOKEN"), "{}", given.url());
    }
}
