//! The keys by which hosts of a cluster know each other.
//!
//! A cluster has an authority of its own, whose private key is thrown away once every host has a certificate:
//! nobody can add a host without making all keys anew. Certificates do not expire.

use crate::{Bundle, Member, RuntimeError};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName},
    server::WebPkiClientVerifier,
    version::TLS13,
};
use std::sync::Arc;

/// What stands behind a host's name in its certificate. Names below `internal` are no site's (ICANN, 2024).
const DOMAIN: &str = "tasuki.internal";

/// A host's certificate and private key, DER.
pub(crate) struct HostKey {
    pub certificate: Vec<u8>,
    pub key: Vec<u8>,
}

/// Makes a certificate of an authority (DER), and a key for each host.
pub(crate) fn make(hosts: &[String]) -> Result<(Vec<u8>, Vec<HostKey>), rcgen::Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "tasuki runtime");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let host = |name: &String| {
        let mut params = CertificateParams::new(vec![full_name(name)])?;
        params.distinguished_name.push(DnType::CommonName, name.as_str());
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &authority)?.der().to_vec();
        Ok(HostKey { certificate, key: key.serialize_der() })
    };
    let keys = hosts.iter().map(host).collect::<Result<_, rcgen::Error>>()?;
    Ok((authority.der().to_vec(), keys))
}

fn full_name(host: &str) -> String {
    format!("{host}.{DOMAIN}")
}

/// The name that a host's certificate must have.
pub(crate) fn server_name(member: &Member) -> Result<ServerName<'static>, RuntimeError> {
    ServerName::try_from(full_name(&member.name)).map_err(|_| RuntimeError::HostName(member.name.clone()))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn roots(bundle: &Bundle) -> Result<Arc<RootCertStore>, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(bundle.authority.clone()))?;
    Ok(Arc::new(roots))
}

fn own(bundle: &Bundle) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let certificate = CertificateDer::from(bundle.hosts[bundle.own].certificate.clone());
    (vec![certificate], PrivatePkcs8KeyDer::from(bundle.key.clone()).into())
}

/// How the daemon that keeps the queue speaks with others: TLS 1.3, with hosts of the cluster alone.
pub(crate) fn server(bundle: &Bundle) -> Result<Arc<ServerConfig>, RuntimeError> {
    let verifier = WebPkiClientVerifier::builder_with_provider(roots(bundle)?, provider());
    let verifier = verifier.build().map_err(|error| RuntimeError::Keys(error.to_string()))?;
    let (chain, key) = own(bundle);
    let config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)?;
    Ok(Arc::new(config))
}

/// How another daemon speaks with it.
pub(crate) fn client(bundle: &Bundle) -> Result<Arc<ClientConfig>, RuntimeError> {
    let (chain, key) = own(bundle);
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots(bundle)?)
        .with_client_auth_cert(chain, key)?;
    Ok(Arc::new(config))
}
