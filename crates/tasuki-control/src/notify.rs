//! Where a job's user is told of its end.

use serde::{Deserialize, Serialize};

/// Most characters of an address.
const LENGTH_MAX: usize = 2000;

/// Where a job's user is told of its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// By e-mail to this address.
    Mail(String),
    /// By a POST of HTTP.
    Http {
        /// Name or address of the server; of IPv6 without brackets.
        host: String,
        /// Its port.
        port: u16,
        /// What follows in the URL, from the first slash on.
        path: String,
    },
    /// By a POST of HTTPS to this URL.
    Https(String),
}

impl Address {
    /// Reads `mailto:USER@HOST`, `http://HOST...` or `https://HOST...`.
    ///
    /// # Errors
    /// If it is none of these, in words for the user. Nothing that a program or a line of a protocol would
    /// take for something else than an address passes: no blank, no control character, no leading `-`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            let text: String = text.chars().take(60).collect();
            format!(
                "{text:?} is nowhere to tell: write mailto:USER@HOST, http://HOST/PATH or https://HOST/PATH"
            )
        };
        let is_plain = text.len() <= LENGTH_MAX && text.bytes().all(|byte| byte.is_ascii_graphic());
        let is_safe = is_plain && !text.contains(['"', '\\', '<', '>', '#']);
        let (scheme, rest) = text.split_once(':').filter(|_| is_safe).ok_or_else(wrong)?;
        match scheme {
            "mailto" if is_mailbox(rest) => Ok(Self::Mail(rest.to_owned())),
            "http" | "https" => {
                let (host, port, path) = server(rest).ok_or_else(wrong)?;
                match scheme {
                    "https" => Ok(Self::Https(text.to_owned())),
                    _ => Ok(Self::Http { host, port: port.unwrap_or(80), path }),
                }
            }
            _ => Err(wrong()),
        }
    }

    /// An address as others may see it: what stands before or behind the host may be a password.
    pub fn concealed(text: &str) -> String {
        match text.split_once(':') {
            Some(("mailto", rest)) => format!("mailto:...{}", rest.find('@').map_or("", |at| &rest[at..])),
            Some((scheme, rest)) => {
                let rest = rest.trim_start_matches('/');
                let host = rest.split(['/', '?']).next().unwrap_or_default();
                format!("{scheme}://{host}/...")
            }
            None => "...".into(),
        }
    }
}

/// Whether it is `USER@HOST` of characters that RFC 5321 allows without quotes.
fn is_mailbox(text: &str) -> bool {
    let is_of = |text: &str, others: &str| {
        let first = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        first && text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
    };
    text.split_once('@').is_some_and(|(user, host)| is_of(user, "!#$%&'*+/=?^_`{|}~.-") && is_of(host, ".-"))
}

/// Host, port and path of what stands behind the scheme of a URL (RFC 3986), without a user.
fn server(rest: &str) -> Option<(String, Option<u16>, String)> {
    let rest = rest.strip_prefix("//")?;
    let at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(at);
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let (host, port) = match authority.strip_prefix('[') {
        Some(inner) => {
            let (host, port) = inner.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (host, if port.is_empty() { None } else { Some(port.strip_prefix(':')?) })
        }
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    let is_known = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    let is_host =
        host.starts_with(|c: char| c.is_ascii_alphanumeric() || c == ':') && host.chars().all(is_known);
    let port = match port {
        Some(port) => Some(port.parse().ok().filter(|port| *port > 0)?),
        None => None,
    };
    is_host.then(|| (host.to_owned(), port, path))
}

/// Whether the user of a job that is over was told so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Notice {
    /// The server or the mailer has taken it.
    Told,
    /// It could not be told, for this reason.
    Failed(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let http =
            |host: &str, port, path: &str| Ok(Address::Http { host: host.into(), port, path: path.into() });
        assert_eq!(Address::parse("mailto:a.b+c@example.org"), Ok(Address::Mail("a.b+c@example.org".into())));
        assert_eq!(Address::parse("http://example.org"), http("example.org", 80, "/"));
        assert_eq!(Address::parse("http://10.0.0.1:8080/a?b=c"), http("10.0.0.1", 8080, "/a?b=c"));
        assert_eq!(Address::parse("http://[fd00::1]:99?x"), http("fd00::1", 99, "/?x"));
        let https = "https://example.org/hook";
        assert_eq!(Address::parse(https), Ok(Address::Https(https.into())));
    }

    #[test]
    fn others_see_the_server_alone() {
        for (address, shown) in [
            ("https://hooks.example.org/services/T0/secret", "https://hooks.example.org/..."),
            ("http://10.0.0.5:8080?token=secret", "http://10.0.0.5:8080/..."),
            ("http://[fd00::1]:99/secret", "http://[fd00::1]:99/..."),
            ("mailto:secret@example.org", "mailto:...@example.org"),
            ("secret", "..."),
        ] {
            assert_eq!(Address::concealed(address), shown);
        }
    }

    #[test]
    fn nothing_else_passes() {
        let bad = [
            "",
            "anna",
            "mailto:",
            "mailto:anna",
            "mailto:-f@x",
            "mailto:a@-x",
            "mailto:a b@x",
            "mailto:a@x,b@y",
            "mailto:a@x?cc=b@y",
            "http:",
            "http://",
            "http:///x",
            "http://a b/",
            "http://a/\r\nX: y",
            "http://me:secret@host/",
            "http://host:0/",
            "http://host:99999/",
            "http://[::1/",
            "http://[x]/",
            "https://-o/",
            "file:///etc/passwd",
            "ftp://host/",
            "http://h/#f",
            "http://h/\"",
            "http://h\u{e9}/",
        ];
        for text in bad {
            assert!(Address::parse(text).is_err_and(|why| why.contains("mailto:USER@HOST")), "{text:?}");
        }
        assert!(Address::parse(&format!("http://h/{}", "x".repeat(LENGTH_MAX))).is_err());
    }
}
