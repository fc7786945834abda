//! What a rank asks for, read from the text of a request.

/// A request of PMI-1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// The highest version that the rank speaks; must come first.
    Init {
        /// `pmi_version`.
        version: u32,
        /// `pmi_subversion`.
        subversion: u32,
    },
    /// The longest name, key and value.
    Maxes,
    /// The number of the program within the job.
    Appnum,
    /// The name of the key space.
    Name,
    /// How many ranks could run.
    Universe,
    /// A key gets a value.
    Put {
        /// Name of the key space.
        space: String,
        /// The key.
        key: String,
        /// The value, to the end of the line.
        value: String,
    },
    /// The value of a key.
    Get {
        /// Name of the key space.
        space: String,
        /// The key.
        key: String,
    },
    /// A key with its value, by number.
    GetByIndex {
        /// Name of the key space.
        space: String,
        /// The number, from 0.
        index: usize,
    },
    /// The rank waits for others.
    Barrier {
        /// Who takes part; `None`: all ranks.
        group: Option<String>,
    },
    /// The rank leaves.
    Finalize,
    /// The rank wants the whole job ended.
    Abort {
        /// Exit code of the job.
        code: i32,
        /// Why, if the rank says so.
        message: String,
    },
    /// A service that this server does not have, and the name of the answer that refuses it.
    Unserved {
        /// What was asked for, for the user.
        what: &'static str,
        /// `cmd` of the answer.
        answer: &'static str,
    },
}

/// Services for dynamic processes: the request's name, the answer's, and what it is.
const UNSERVED: [(&str, &str, &str); 4] = [
    ("spawn", "spawn_result", "MPI_Comm_spawn"),
    ("publish_name", "publish_result", "MPI_Publish_name"),
    ("unpublish_name", "unpublish_result", "MPI_Unpublish_name"),
    ("lookup_name", "lookup_result", "MPI_Lookup_name"),
];

impl Request {
    /// Reads a request.
    ///
    /// # Errors
    /// What is wrong with it, for the user.
    pub fn parse(text: &str) -> Result<Self, String> {
        let name = field(text, "cmd").or_else(|| field(text, "mcmd"));
        let name = name.ok_or_else(|| format!("a request without cmd=: {}", excerpt(text)))?;
        let need =
            |key: &str| field(text, key).map(str::to_owned).ok_or_else(|| format!("{name} without {key}="));
        let number =
            |key: &str| need(key)?.parse().map_err(|_| format!("{name} with a {key} that is no number"));
        Ok(match name {
            "init" => Self::Init { version: number("pmi_version")?, subversion: number("pmi_subversion")? },
            "get_maxes" => Self::Maxes,
            "get_appnum" => Self::Appnum,
            "get_my_kvsname" => Self::Name,
            "get_universe_size" => Self::Universe,
            "put" => Self::Put { space: need("kvsname")?, key: need("key")?, value: rest(text, "value")? },
            "get" => Self::Get { space: need("kvsname")?, key: need("key")? },
            "getbyidx" => Self::GetByIndex { space: need("kvsname")?, index: number("idx")? as usize },
            "barrier_in" => Self::Barrier { group: field(text, "group").map(str::to_owned) },
            "finalize" => Self::Finalize,
            "abort" => Self::Abort {
                code: field(text, "exitcode").and_then(|code| code.parse().ok()).unwrap_or(1),
                message: rest(text, "message").unwrap_or_default(),
            },
            _ => match UNSERVED.iter().find(|(asked, ..)| *asked == name) {
                Some((_, answer, what)) => Self::Unserved { what, answer },
                None => return Err(format!("a request that PMI-1 does not have: {}", excerpt(text))),
            },
        })
    }
}

/// The value of a field. Fields are separated by spaces or ends of lines; a value ends there.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let fields = text.split([' ', '\t', '\n']).filter_map(|field| field.split_once('='));
    fields.into_iter().find(|(name, _)| *name == key).map(|(_, value)| value)
}

/// What follows `key=` up to the end of the line, spaces included: the last field of a `put`.
fn rest(text: &str, key: &str) -> Result<String, String> {
    let start = format!(" {key}=");
    let at = text.find(&start).ok_or_else(|| format!("{} without {key}=", excerpt(text)))?;
    Ok(text[at + start.len()..].lines().next().unwrap_or_default().trim_end().to_owned())
}

/// The beginning of a request, for a message.
fn excerpt(text: &str) -> String {
    let short: String = text.chars().take(60).collect();
    format!("{short:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    // Lines as MPICH 4.3, 5.0 and Intel MPI 2021 send them (strace).
    #[test]
    fn lines_of_real_ranks() {
        let parse = |text| Request::parse(text).unwrap();
        let init = Request::Init { version: 1, subversion: 1 };
        assert_eq!(parse("cmd=init pmi_version=1 pmi_subversion=1"), init);
        let put = parse("cmd=put kvsname=kvs_1 key=-allgather-shm-1-0 value=0A0B=,#x$");
        let (space, key) = ("kvs_1".to_owned(), "-allgather-shm-1-0".to_owned());
        assert_eq!(put, Request::Put { space: space.clone(), key, value: "0A0B=,#x$".into() });
        let get = parse("cmd=get kvsname=kvs_1 key=PMI_process_mapping");
        assert_eq!(get, Request::Get { space, key: "PMI_process_mapping".into() });
        assert_eq!(parse("cmd=barrier_in"), Request::Barrier { group: None });
        let group = Some("WORLD:5".to_owned());
        assert_eq!(parse("cmd=barrier_in group=WORLD:5"), Request::Barrier { group });
        assert_eq!(
            parse("cmd=abort exitcode=7 message=a b"),
            Request::Abort { code: 7, message: "a b".into() }
        );
        assert_eq!(parse("cmd=abort"), Request::Abort { code: 1, message: String::new() });
        let spawn = Request::Unserved { what: "MPI_Comm_spawn", answer: "spawn_result" };
        assert_eq!(parse("mcmd=spawn\nnprocs=2\nexecname=./a\n"), spawn);
    }

    #[test]
    fn a_value_may_be_empty_or_hold_spaces_and_signs() {
        let value = |text| match Request::parse(text) {
            Ok(Request::Put { value, .. }) => value,
            other => panic!("{other:?}"),
        };
        assert_eq!(value("cmd=put kvsname=k key=a value="), "");
        assert_eq!(value("cmd=put kvsname=k key=a value=b c=d  e"), "b c=d  e");
    }

    #[test]
    fn what_is_no_request_is_named() {
        let why = |text| Request::parse(text).unwrap_err();
        assert!(why("").contains("without cmd="));
        assert!(why("GET / HTTP/1.1").contains("GET / HTTP"));
        assert!(why("cmd=dance").contains("dance"));
        assert!(why("cmd=put kvsname=k key=a").contains("without value="));
        assert!(why("cmd=get kvsname=k").contains("get without key="));
        assert!(why("cmd=init pmi_version=x pmi_subversion=1").contains("no number"));
        assert!(why("cmd=getbyidx kvsname=k idx=-1").contains("no number"));
    }
}
