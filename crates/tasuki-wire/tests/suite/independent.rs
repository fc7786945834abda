//! What the tests must compute independently of the crate: bytes from hexadecimal text, and CRC32C bit by
//! bit.

/// The bytes of hexadecimal text; white space, and everything behind `#` in a line, is ignored.
pub fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .lines()
        .flat_map(|line| line.split('#').next().unwrap_or("").chars())
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).expect("a hexadecimal digit") as u8)
        .collect();
    assert!(digits.len().is_multiple_of(2), "half a byte in {text}");
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// CRC32C from its definition in docs/reference/wire.md: 0x82F63B78 is 0x1EDC6F41 reflected.
pub fn crc32c(bytes: impl IntoIterator<Item = u8>) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
        }
    }
    !crc
}

/// Gives a packet of any content the checksum that its receiver expects, so that the checks behind it are
/// reached. `packet` has at least a header.
pub fn seal(packet: &mut [u8]) {
    let crc = crc32c(packet[..28].iter().chain(&packet[32..]).copied());
    packet[28..32].copy_from_slice(&crc.to_le_bytes());
}

/// A sealed packet from peer 9 to endpoint 1 around `frames`, which may be anything.
pub fn around(frames: &[u8], peer: u32) -> Vec<u8> {
    let mut packet = vec![0x54, 1, 0, 0x20];
    packet.extend(u16::try_from(32 + frames.len()).expect("a packet's length").to_le_bytes());
    packet.extend([0; 6]);
    packet.extend(1u32.to_le_bytes());
    packet.extend(peer.to_le_bytes());
    packet.extend([0; 12]);
    packet.extend(frames);
    seal(&mut packet);
    packet
}

/// RFC 3720 appendix B.4, and the check value of the CRC catalogue.
#[test]
fn the_checksum_is_crc32c() {
    assert_eq!(crc32c([0; 32]), 0x8a91_36aa);
    assert_eq!(crc32c([0xff; 32]), 0x62a8_ab43);
    assert_eq!(crc32c(0..32), 0x46dd_794e);
    assert_eq!(crc32c(*b"123456789"), 0xe306_9283);
}
