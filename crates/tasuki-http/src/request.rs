//! What a client asks for.

use crate::names::Host;
use httparse::{EMPTY_HEADER, Header, Status};

/// The longest head of a request, bytes.
pub(crate) const HEAD_BYTES_MAX: usize = 8 << 10;
/// Headers of a request.
const HEADERS_MAX: usize = 64;

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The method, as `GET`.
    pub method: &'a str,
    /// The path, without what follows a question mark.
    pub path: &'a str,
    /// What follows a question mark, as it was sent; empty: nothing.
    pub query: &'a str,
    /// The minor version: 1 of HTTP/1.1.
    version: u8,
    headers: Vec<(&'a str, &'a [u8])>,
}

impl<'a> Request<'a> {
    /// The request of this head; `None`: it is none of HTTP/1.1.
    pub fn parse(head: &'a [u8]) -> Option<Self> {
        let mut headers = [EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        request.parse(head).ok().filter(Status::is_complete)?;
        let target = request.path?;
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pair = |header: &Header<'a>| (header.name, header.value);
        let headers = request.headers.iter().map(pair).collect();
        Some(Self { method: request.method?, path, query, version: request.version?, headers })
    }

    /// What the request calls the server; `None`: it is of HTTP/1.0 and does not say. A request of HTTP/1.1
    /// that does not say it once and properly is to be refused (RFC 9112, section 3.2).
    pub(crate) fn host(&self) -> Result<Option<Host<'a>>, &'static str> {
        let mut values = self.headers.iter().filter(|(own, _)| own.eq_ignore_ascii_case("Host"));
        match (values.next(), values.next()) {
            (None, _) if self.version == 0 => Ok(None),
            (None, _) => Err("a request of HTTP/1.1 has the header Host"),
            (Some(_), Some(_)) => Err("a request has one header Host"),
            (Some((_, value)), None) => {
                let host = str::from_utf8(value).ok().and_then(|value| Host::parse(value.trim()));
                host.map(Some).ok_or("the header Host is a name or an address, and a port perhaps")
            }
        }
    }

    /// The value of a header that was sent exactly once and is ASCII: of one that was sent twice, two readers
    /// may take different ones.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        let mut values = self.headers.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
        let (_, value) = values.next()?;
        let text = str::from_utf8(value).ok().filter(|text| text.is_ascii())?;
        values.next().is_none().then_some(text.trim())
    }

    /// The value of a parameter of the query, as it was sent (nothing is decoded).
    pub fn parameter(&self, name: &str) -> Option<&'a str> {
        let mut pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find_map(|(own, value)| (own == name).then_some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_understood_and_anything_else_is_not() {
        let of = |head: &'static str| {
            Request::parse(head.as_bytes()).map(|request| (request.method, request.path, request.query))
        };
        assert_eq!(of("GET /metrics HTTP/1.1\r\nHost: n1\r\n\r\n"), Some(("GET", "/metrics", "")));
        assert_eq!(of("HEAD /metrics?name[]=x HTTP/1.0\r\n\r\n"), Some(("HEAD", "/metrics", "name[]=x")));
        for head in
            ["", "\r\n\r\n", "GET\r\n\r\n", "GET /metrics\r\n\r\n", "GET /m HTTP/1.1\r\nHost", "\0\0 \0"]
        {
            assert_eq!(of(head), None, "{head:?}");
        }
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(HEADERS_MAX + 1));
        assert_eq!(Request::parse(many.as_bytes()), None);
    }

    #[test]
    fn a_request_of_http_1_1_names_its_host_once() {
        let host = |version: &str, headers: &str| {
            let head = format!("GET /x HTTP/{version}\r\n{headers}\r\n");
            let request = Request::parse(head.as_bytes()).expect("a request");
            request.host().map(|host| host.map(|host| format!("{host:?}"))).map_err(drop)
        };
        let n1 = Ok(Some(format!("{:?}", Host::Name("n1"))));
        assert_eq!(host("1.1", "hOST: n1:80 \r\n"), n1);
        assert_eq!(host("1.0", "Host: n1\r\n"), n1);
        assert_eq!(host("1.0", ""), Ok(None));
        for wrong in ["", "A: n1\r\n", "Host: n1\r\nHost: n1\r\n", "Host: n1:x\r\n", "Host: n1, n2:1:1\r\n"] {
            assert_eq!(host("1.1", wrong), Err(()), "{wrong:?}");
        }
    }

    #[test]
    fn headers_have_a_value_if_they_are_sent_once_and_parameters_are_found_by_name() {
        let head = b"GET /x?a=1&of=n1:eth1&b HTTP/1.1\r\nhOST:  n1 \r\nA: 1\r\na: 2\r\nB: \xff\r\n\r\n";
        let request = Request::parse(head).expect("a request");
        assert_eq!(request.header("Host"), Some("n1"));
        assert_eq!([request.header("A"), request.header("B"), request.header("C")], [None; 3]);
        assert_eq!([request.parameter("of"), request.parameter("b")], [Some("n1:eth1"), None]);
    }
}
