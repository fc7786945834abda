//! What is answered to which request.

use crate::{DashboardError, access::Access, access::random_digits, collector::Collector, history::Span};
use tasuki_http::{Reply, Request};

const PAGE: &str = include_str!("../page/index.html");
const STYLE: &str = include_str!("../page/style.css");
const SCRIPTS: [&str; 5] = [
    include_str!("../page/words.js"),
    include_str!("../page/cabling.js"),
    include_str!("../page/charts.js"),
    include_str!("../page/tables.js"),
    include_str!("../page/live.js"),
];
const JSON: &str = "application/json";

/// The page and its data.
#[derive(Debug)]
pub(crate) struct Site {
    pub access: Access,
    /// What [`crate::layout::Layout`] is as JSON.
    pub layout: String,
    pub collector: Collector,
}

impl Site {
    /// The answer to a request.
    pub fn answer(&self, request: &Request) -> Reply {
        let mut reply = match Access::refuse(request) {
            Some(refusal) => refusal,
            None => self.known(request),
        };
        for (name, value) in [
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
        ] {
            reply.headers.push((name, value.into()));
        }
        reply
    }

    fn known(&self, request: &Request) -> Reply {
        // The page itself says nothing of hosts, so it needs no token: it asks for one.
        if request.path == "/" {
            return page().unwrap_or_else(|error| Reply::refusal(500, &error.to_string()));
        }
        let data: fn(&Self, &Request) -> Reply = match request.path {
            "/data/layout" => |site, _| Reply::text(JSON, site.layout.clone()),
            "/data/history" => Self::history,
            "/data/events" => |site, _| match site.collector.feed.subscribe() {
                Some(events) => Reply::events(events),
                None => Reply::refusal(503, "the page is open in too many browsers"),
            },
            _ => return Reply::refusal(404, "there is nothing of that name; the page is at /"),
        };
        self.access.refuse_data(request).unwrap_or_else(|| data(self, request))
    }

    fn history(&self, request: &Request) -> Reply {
        let span = match request.parameter("span") {
            Some("day") => Span::Day,
            _ => Span::Hour,
        };
        match self.collector.told(request.parameter("of").unwrap_or_default(), span) {
            Some(told) => match serde_json::to_string(&told) {
                Ok(text) => Reply::text(JSON, text),
                Err(error) => Reply::refusal(500, &error.to_string()),
            },
            None => Reply::refusal(404, "nothing is known of that name"),
        }
    }
}

/// The page, whose own style and script are the only ones that the browser may take.
fn page() -> Result<Reply, DashboardError> {
    let nonce = random_digits()?;
    let text = PAGE.replace("NONCE", &nonce).replace("/*STYLE*/", STYLE);
    let text = text.replace("/*SCRIPT*/", &SCRIPTS.concat());
    let mut reply = Reply::text("text/html; charset=utf-8", text);
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; \
         img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    reply.headers.push(("Content-Security-Policy", policy));
    Ok(reply)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Token;
    use tasuki_http::Body;
    use tasuki_random::Random;
    use tasuki_testkit::replay::Replay;

    fn site() -> Site {
        let access = Access { token: Token::draw().expect("random") };
        Site { access, layout: "{\"hosts\":[\"secret-name\"]}".into(), collector: Collector::new() }
    }

    /// Status, headers and text of the answer.
    fn get(site: &Site, target: &str, headers: &str) -> (u16, String, String) {
        let head = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        let Some(request) = Request::parse(head.as_bytes()) else {
            return (400, String::new(), String::new());
        };
        let reply = site.answer(&request);
        let headers: String =
            reply.headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
        match reply.body {
            Body::Text(text) => (reply.status, headers, text),
            Body::Events(_) => (reply.status, headers, "events".into()),
        }
    }

    #[test]
    fn data_are_for_those_with_the_token_and_the_page_holds_none() {
        let site = site();
        let bearer = format!("Authorization: Bearer {}\r\n", site.access.token.reveal());
        for path in ["/data/layout", "/data/history", "/data/events", "/data/history?of=n1&span=day"] {
            assert_eq!(get(&site, path, "").0, 401, "{path}");
        }
        assert_eq!(get(&site, "/data/layout", &bearer).2, site.layout);
        assert_eq!(get(&site, "/data/events", &bearer).2, "events");
        assert_eq!(get(&site, "/data/history?of=n1:eth1", &bearer).0, 404, "nothing is known yet");
        let (status, headers, text) = get(&site, "/", "");
        assert!(status == 200 && headers.contains("default-src 'none'") && headers.contains("no-store"));
        assert!(!text.contains("secret-name") && !text.contains(site.access.token.reveal()));
    }

    #[test]
    fn the_page_takes_nothing_from_elsewhere_and_its_nonce_is_drawn_anew() {
        let site = site();
        let (_, headers, text) = get(&site, "/", "");
        for foreign in
            ["http://", "https://", "//cdn", "@import", "url(", "src=", "eval(", "innerHTML", "/*S"]
        {
            let allowed = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!allowed.contains(foreign), "{foreign}");
        }
        let nonce = text.split("nonce=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a nonce");
        assert!(nonce.len() == 32 && headers.contains(&format!("script-src 'nonce-{nonce}'")), "{headers}");
        assert!(!get(&site, "/", "").2.contains(nonce));
    }

    #[test]
    fn hostile_paths_and_tokens_get_a_refusal_that_says_nothing() {
        let replay =
            Replay { variable: "TASUKI_TEST_SITE_SEED", command: "cargo test --release -p tasuki-dashboard" };
        replay.each(2000, |seed| {
            let (site, mut random) = (site(), Random::new(seed));
            let token = site.access.token.reveal().to_owned();
            const PIECES: [&str; 14] = [
                "/",
                "..",
                "%2e%2e",
                "data",
                "layout",
                "history",
                "events",
                "?of=",
                "&span=day",
                "etc/passwd",
                "\\",
                "#",
                ";",
                "%00",
            ];
            let path: String = (0..random.below(9)).map(|_| random.pick(&PIECES)).collect();
            // A token with one digit wrong, cut off, or given twice.
            let at = random.index(token.len());
            let digit = if token.as_bytes()[at] == b'0' { "1" } else { "0" };
            let wrong = [
                format!("{}{digit}{}", &token[..at], &token[at + 1..]),
                token[..at].to_owned(),
                format!("{token}{token}"),
            ];
            let bearer = format!("Authorization: Bearer {}\r\n", wrong[random.index(3)]);
            let (status, _, text) = get(&site, &format!("/{path}"), &bearer);
            assert!(![200].contains(&status) || path.split('?').next() == Some(""), "/{path}: {status}");
            assert!(!text.contains("secret-name") && !text.contains(&token) && !text.contains("root:"));
        });
    }
}
