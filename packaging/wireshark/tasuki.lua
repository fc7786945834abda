-- Wireshark dissector of Tasuki's packets and cable probes, as docs/reference/wire.md describes them: frames of type 0x88B5,
-- UDP datagrams that look like packets (their ports are any), and frames of type 0x88B6.
-- It belongs into Wireshark's folder for Lua plugins; or: tshark -X lua_script:tasuki.lua -r FILE
-- Needs Wireshark 3.6 or newer.

local bits = bit32 or bit
local tasuki = Proto("tasuki", "Tasuki packet")
local cable = Proto("tasuki_cable", "Tasuki cable probe")

local LANES = { [0] = "raw", [1] = "UDP", [2] = "AF_XDP" }
local TYPES = {
	[0x00] = "padding", [0x01] = "ping", [0x02] = "ack", [0x03] = "hello", [0x04] = "welcome", [0x05] = "refuse",
	[0x06] = "rails", [0x07] = "probe", [0x08] = "probe reply", [0x10] = "eager", [0x11] = "request", [0x12] = "data",
	[0x13] = "grant", [0x14] = "done", [0x15] = "credit", [0x16] = "recall", [0x17] = "return", [0x18] = "quiesce",
	[0x19] = "quiesced", [0x1a] = "resume", [0x1b] = "bye",
}
local REASONS = { [1] = "no room for another peer", [2] = "leaving", [3] = "given up" }
local CABLE_KINDS = { [1] = "hello", [2] = "ping", [3] = "pong", [4] = "filler", [5] = "discovery" }
local HEADER_LEN, CABLE_HEAD_LEN, CRC_AT, CABLE_CRC_AT = 32, 40, 28, 8

-- Fields, by their names in filters.
local f = {
	version = ProtoField.uint8("tasuki.version", "Version"),
	tagged_packet = ProtoField.bool("tasuki.keyed", "Ends in a keyed tag", 8, nil, 0x01),
	rail = ProtoField.uint8("tasuki.rail", "Rail"),
	lane = ProtoField.uint8("tasuki.lane", "Lane", base.DEC, LANES),
	length = ProtoField.uint16("tasuki.length", "Length"),
	number = ProtoField.uint64("tasuki.number", "Packet number"),
	endpoint = ProtoField.uint32("tasuki.endpoint", "Endpoint of the addressee"),
	peer = ProtoField.uint32("tasuki.peer", "Addressee's name for the sender"),
	token = ProtoField.uint64("tasuki.token", "Token", base.HEX),
	checksum = ProtoField.uint32("tasuki.checksum", "CRC32C", base.HEX),
	checksum_good = ProtoField.bool("tasuki.checksum.good", "Checksum is right"),
	tag_bytes = ProtoField.bytes("tasuki.keyed.tag", "Keyed tag"),
	type = ProtoField.uint8("tasuki.frame", "Frame", base.HEX, TYPES),
	padding = ProtoField.uint32("tasuki.padding", "Bytes of padding"),
	ack_rail = ProtoField.uint8("tasuki.ack.rail", "Rail"),
	ack_lane = ProtoField.uint8("tasuki.ack.lane", "Lane", base.DEC, LANES),
	ack_delay = ProtoField.uint64("tasuki.ack.delay", "Delay, us"),
	ack_last = ProtoField.uint64("tasuki.ack.last", "Arrived up to"),
	ack_first = ProtoField.uint64("tasuki.ack.first", "Arrived from"),
	addressee = ProtoField.uint64("tasuki.greeting.addressee", "Incarnation of the addressee", base.HEX),
	proof = ProtoField.uint64("tasuki.greeting.proof", "Proof", base.HEX),
	incarnation = ProtoField.uint64("tasuki.greeting.incarnation", "Incarnation of the sender", base.HEX),
	sender = ProtoField.uint32("tasuki.greeting.endpoint", "Endpoint of the sender"),
	name = ProtoField.uint32("tasuki.greeting.name", "Name for the addressee"),
	secret = ProtoField.bytes("tasuki.greeting.secret", "Secret"),
	identity = ProtoField.ipv6("tasuki.greeting.identity", "Identity"),
	port = ProtoField.uint16("tasuki.greeting.port", "UDP port"),
	ack_most = ProtoField.uint32("tasuki.greeting.ack_delay", "Longest delay of an ack, us"),
	change = ProtoField.uint64("tasuki.rails.change", "Change of the list of rails"),
	rails = ProtoField.uint8("tasuki.rails.count", "Rails"),
	rail_number = ProtoField.uint8("tasuki.rails.rail", "Rail"),
	rail_lanes = ProtoField.uint8("tasuki.rails.lanes", "Lanes (bits: raw, UDP, AF_XDP)", base.HEX),
	rail_mtu = ProtoField.uint16("tasuki.rails.mtu", "MTU"),
	rail_rate = ProtoField.uint32("tasuki.rails.rate", "Mbit/s"),
	rail_address = ProtoField.ipv6("tasuki.rails.address", "Address"),
	rail_port = ProtoField.uint16("tasuki.rails.port", "UDP port"),
	rail_mac = ProtoField.ether("tasuki.rails.mac", "MAC address"),
	refused = ProtoField.uint64("tasuki.refuse.incarnation", "Incarnation that is refused", base.HEX),
	reason = ProtoField.uint8("tasuki.refuse.reason", "Reason", base.DEC, REASONS),
	nonce = ProtoField.uint64("tasuki.probe.nonce", "Nonce", base.HEX),
	probe_rail = ProtoField.uint8("tasuki.probe.rail", "Rail of the probe"),
	probe_lane = ProtoField.uint8("tasuki.probe.lane", "Lane of the probe", base.DEC, LANES),
	probe_length = ProtoField.uint16("tasuki.probe.length", "Length of the probe's packet"),
	position = ProtoField.uint64("tasuki.position", "Position"),
	seq = ProtoField.uint64("tasuki.seq", "Message"),
	has_tag = ProtoField.bool("tasuki.start.tagged", "For the tagged queue", 8, nil, 0x01),
	has_data = ProtoField.bool("tasuki.start.has_data", "With completion data", 8, nil, 0x02),
	has_key = ProtoField.bool("tasuki.start.has_key", "With a key", 8, nil, 0x04),
	charged = ProtoField.bool("tasuki.start.charged", "Credit was spent", 8, nil, 0x08),
	wants_done = ProtoField.bool("tasuki.start.ack", "Sender waits for done", 8, nil, 0x10),
	internal = ProtoField.bool("tasuki.start.internal", "For the internal queue", 8, nil, 0x20),
	tag = ProtoField.uint64("tasuki.tag", "Tag", base.HEX),
	data = ProtoField.uint64("tasuki.data", "Completion data", base.HEX),
	key = ProtoField.uint64("tasuki.key", "Key", base.HEX),
	len = ProtoField.uint64("tasuki.len", "Length of the message"),
	early = ProtoField.uint64("tasuki.early", "Early part"),
	inline = ProtoField.uint64("tasuki.inline", "Inline part"),
	offset = ProtoField.uint64("tasuki.offset", "Offset"),
	bytes_here = ProtoField.uint64("tasuki.bytes", "Bytes of the message here"),
	payload = ProtoField.bytes("tasuki.payload", "Payload"),
	upto = ProtoField.uint64("tasuki.upto", "Granted up to"),
	total = ProtoField.uint64("tasuki.total", "Total"),
	keep = ProtoField.uint64("tasuki.keep", "Keep at most"),
	epoch = ProtoField.uint64("tasuki.epoch", "Epoch"),
	frames_sent = ProtoField.uint64("tasuki.sent.frames", "Frames sent"),
	bytes_sent = ProtoField.uint64("tasuki.sent.bytes", "Bytes sent"),
}
tasuki.fields = f
local c = {
	version = ProtoField.uint8("tasuki_cable.version", "Version"),
	kind = ProtoField.uint8("tasuki_cable.kind", "Kind", base.DEC, CABLE_KINDS),
	length = ProtoField.uint16("tasuki_cable.length", "Length"),
	checksum = ProtoField.uint32("tasuki_cable.checksum", "CRC32C", base.HEX),
	checksum_good = ProtoField.bool("tasuki_cable.checksum.good", "Checksum is right"),
	number = ProtoField.uint32("tasuki_cable.number", "Number"),
	run = ProtoField.uint64("tasuki_cable.run", "Run", base.HEX),
	cluster = ProtoField.uint32("tasuki_cable.cluster", "Cluster", base.HEX),
	host = ProtoField.uint16("tasuki_cable.host", "Host number"),
	nic = ProtoField.uint16("tasuki_cable.nic", "NIC number"),
	host_name = ProtoField.string("tasuki_cable.host_name", "Host"),
	nic_name = ProtoField.string("tasuki_cable.nic_name", "NIC"),
	body = ProtoField.bytes("tasuki_cable.body", "Body"),
}
cable.fields = c

local bad_checksum = ProtoExpert.new("tasuki.bad_checksum", "wrong checksum", expert.group.CHECKSUM, expert.severity.ERROR)
local malformed = ProtoExpert.new("tasuki.malformed", "dropped by every receiver", expert.group.MALFORMED, expert.severity.ERROR)
tasuki.experts = { bad_checksum, malformed }
local cable_bad = ProtoExpert.new("tasuki_cable.malformed", "dropped by every receiver", expert.group.MALFORMED, expert.severity.ERROR)
cable.experts = { cable_bad }

tasuki.prefs.crc = Pref.bool("Verify checksums", true, "Compute the CRC32C of every packet")

-- CRC32C, a byte at a time.
local crc_table = {}
for byte = 0, 255 do
	local value = byte
	for _ = 1, 8 do
		local low = value % 2
		value = math.floor(value / 2)
		if low == 1 then value = bits.bxor(value, 0x82f63b78) % 4294967296 end
	end
	crc_table[byte] = value
end

-- Of the first `length` bytes without the four at `hole`.
local function crc32c(tvb, length, hole)
	local text = tvb:raw(0, length)
	local sum = 4294967295
	for at = 1, length do
		if at <= hole or at > hole + 4 then
			local low = bits.band(bits.bxor(sum, string.byte(text, at)), 255)
			sum = bits.bxor(math.floor(sum / 256), crc_table[low]) % 4294967296
		end
	end
	return 4294967295 - sum
end

-- What is left of a packet. Whatever is not there is an error with the reason that docs/reference/wire.md gives it.
local Reader = {}
Reader.__index = Reader
local function reader(tvb, at, stop)
	return setmetatable({ tvb = tvb, at = at, stop = stop }, Reader)
end

function Reader:take(count)
	if count > self.stop - self.at then error("truncated", 0) end
	local range = self.tvb(self.at, count)
	self.at = self.at + count
	return range
end

function Reader:left()
	return self.stop - self.at
end

-- A number of one to nine bytes: where it stands, and its value.
function Reader:var()
	local start = self.at
	local first = self:take(1):uint()
	if first < 248 then return self.tvb(start, 1), UInt64(first) end
	local count = first - 247
	local range = self:take(count)
	local highest = self.tvb(start + count, 1):uint()
	if (count == 1 and highest < 248) or (count > 1 and highest == 0) then error("varint", 0) end
	return self.tvb(start, 1 + count), range:le_uint64()
end

local function add_var(tree, field, from)
	local range, value = from:var()
	tree:add(field, range, value)
	return value
end

local function add(tree, field, from, count)
	local range = from:take(count)
	tree:add_le(field, range)
	return range
end

local function add_path(tree, rail, lane, from, reason)
	local range = from:take(1)
	local path = range:uint()
	tree:add(rail, range, path % 32)
	tree:add(lane, range, math.floor(path / 32))
	if path >= 96 then error(reason, 0) end
	return path
end

-- The end of what a frame covers is at most 2^64 - 1.
local function add_position(tree, from, count)
	local position = add_var(tree, f.position, from)
	if position + count < position then error("position", 0) end
	return position
end

local function add_payload(tree, from, count)
	-- More than any packet holds is not there.
	if count > UInt64(65535) then error("truncated", 0) end
	local bytes = count:tonumber()
	if bytes > 0 then tree:add(f.payload, from:take(bytes)) end
end

local read = {}

read[0x00] = function(tree, from)
	local start = from.at - 1
	while from:left() > 0 and from.tvb(from.at, 1):uint() == 0 do from.at = from.at + 1 end
	tree:add(f.padding, from.tvb(start, from.at - start), from.at - start)
	return (from.at - start) .. " bytes"
end
read[0x01] = function() end
read[0x02] = function(tree, from)
	add_path(tree, f.ack_rail, f.ack_lane, from, "ack")
	add_var(tree, f.ack_delay, from)
	local at, last = from:var()
	local most = last
	local runs = 0
	local count
	while true do
		local below_at, below = from:var()
		if below > last or last > UInt64(0xffffffff, 0xffff) then error("ack", 0) end
		local first = last - below
		tree:add(f.ack_last, at, last)
		tree:add(f.ack_first, below_at, first)
		if not count then
			count = from:take(1):uint()
			if count > 63 then error("ack", 0) end
		end
		runs = runs + 1
		if runs > count then break end
		local gap
		at, gap = from:var()
		local down = gap + UInt64(2)
		if down < gap or down > first then error("ack", 0) end
		last = first - down
	end
	return "to " .. tostring(most)
end

local function read_rails(tree, from)
	add_var(tree, f.change, from)
	local count = add(tree, f.rails, from, 1):uint()
	if count > 32 then error("rails", 0) end
	local before = -1
	for _ = 1, count do
		local number = from.tvb(from.at, math.min(1, from:left()))
		local one = tree:add(tasuki, from:take(32), "Rail")
		local rail = reader(from.tvb, from.at - 32, from.at)
		local id = add(one, f.rail_number, rail, 1):uint()
		one:set_text("Rail " .. id)
		local lanes = add(one, f.rail_lanes, rail, 1):uint()
		local mtu = add(one, f.rail_mtu, rail, 2):le_uint()
		add(one, f.rail_rate, rail, 4)
		one:add(f.rail_address, rail:take(16))
		add(one, f.rail_port, rail, 2)
		one:add(f.rail_mac, rail:take(6))
		if number:len() == 0 or id > 31 or id <= before or lanes > 7 or mtu < 1280 then error("rails", 0) end
		before = id
	end
	return count .. " rails"
end

local function read_greeting(tree, from)
	add(tree, f.addressee, from, 8)
	add(tree, f.proof, from, 8)
	add(tree, f.incarnation, from, 8)
	add(tree, f.sender, from, 4)
	if add(tree, f.name, from, 4):le_uint() == 0 then error("greeting", 0) end
	tree:add(f.secret, from:take(16))
	tree:add(f.identity, from:take(16))
	add(tree, f.port, from, 2)
	add(tree, f.ack_most, from, 4)
	return read_rails(tree, from)
end
read[0x03] = read_greeting
read[0x04] = read_greeting
read[0x05] = function(tree, from)
	add(tree, f.refused, from, 8)
	local reason = add(tree, f.reason, from, 1):uint()
	if not REASONS[reason] then error("greeting", 0) end
	return REASONS[reason]
end
read[0x06] = read_rails
read[0x07] = function(tree, from) add(tree, f.nonce, from, 8) end
read[0x08] = function(tree, from)
	add(tree, f.nonce, from, 8)
	add_path(tree, f.probe_rail, f.probe_lane, from, "greeting")
	add(tree, f.probe_length, from, 2)
end

local function read_start(tree, from, eager)
	local range = from:take(1)
	local flags = range:uint()
	for _, field in ipairs({ f.has_tag, f.has_data, f.has_key, f.charged, f.wants_done, f.internal }) do
		tree:add(field, range)
	end
	local function set(bit) return math.floor(flags / bit) % 2 == 1 end
	if flags >= 64 or (set(32) and not set(1)) then error("start", 0) end
	add_position(tree, from, UInt64(1))
	local seq = add_var(tree, f.seq, from)
	if set(1) then add(tree, f.tag, from, 8) end
	if set(2) then add(tree, f.data, from, 8) end
	if set(4) then add(tree, f.key, from, 8) end
	local len = add_var(tree, f.len, from)
	local early, inline = len, len
	if not eager then
		early = add_var(tree, f.early, from)
		inline = add_var(tree, f.inline, from)
		if inline > early or early > len or inline == len then error("start", 0) end
	end
	add_payload(tree, from, inline)
	return "message " .. tostring(seq) .. ", " .. tostring(len) .. " bytes"
end
read[0x10] = function(tree, from) return read_start(tree, from, true) end
read[0x11] = function(tree, from) return read_start(tree, from, false) end
read[0x12] = function(tree, from)
	local position = add_var(tree, f.position, from)
	local seq = add_var(tree, f.seq, from)
	local offset = add_var(tree, f.offset, from)
	add_var(tree, f.early, from)
	local count = add_var(tree, f.bytes_here, from)
	if count == UInt64(0) or offset + count < offset then error("data", 0) end
	if position + count < position then error("position", 0) end
	add_payload(tree, from, count)
	return "message " .. tostring(seq) .. ", " .. tostring(count) .. " bytes at " .. tostring(offset)
end

-- Control frames: position, then these.
local CONTROL = {
	[0x13] = { f.seq, f.upto }, [0x14] = { f.seq }, [0x15] = { f.total }, [0x16] = { f.keep }, [0x17] = { f.total },
	[0x18] = { f.epoch, f.frames_sent, f.bytes_sent }, [0x19] = { f.epoch, f.frames_sent, f.bytes_sent },
	[0x1a] = { f.epoch }, [0x1b] = { f.frames_sent, f.bytes_sent },
}
for kind, fields in pairs(CONTROL) do
	read[kind] = function(tree, from)
		add_position(tree, from, UInt64(1))
		local words = {}
		for _, field in ipairs(fields) do words[#words + 1] = tostring(add_var(tree, field, from)) end
		return table.concat(words, " ")
	end
end

-- Frame after frame; returns what the packet holds in a few words.
local function read_frames(tree, from, peer)
	local words = {}
	local first = from.at
	while from:left() > 0 do
		local start = from.at
		local kind = from:take(1):uint()
		local name = TYPES[kind]
		local branch = tree:add(tasuki, from.tvb(start, from:left() + 1), name or "unknown frame")
		branch:add(f.type, from.tvb(start, 1))
		local ok, said = pcall(function()
			if not read[kind] then error("frame-type", 0) end
			-- Who has no name yet says hello, and nobody else does.
			if (kind == 0x03) ~= (peer == 0 and start == first) then error("handshake", 0) end
			return read[kind](branch, from)
		end)
		if not ok then
			branch:add_proto_expert_info(malformed, "malformed: " .. tostring(said))
			words[#words + 1] = (name or "?") .. " (malformed: " .. tostring(said) .. ")"
			break
		end
		branch:set_len(from.at - start)
		if said then branch:append_text(": " .. said) end
		words[#words + 1] = said and (name .. " " .. said) or name
	end
	return table.concat(words, "; ")
end

-- Why no receiver looks at the frames, or nil.
local function header_fault(tvb)
	if tvb:len() < HEADER_LEN then return "short" end
	if tvb(0, 1):uint() ~= 0x54 then return "magic" end
	if tvb(1, 1):uint() ~= 1 then return "version" end
	local length = tvb(4, 2):le_uint()
	if length < HEADER_LEN or length > tvb:len() then return "length" end
	return nil
end

function tasuki.dissector(tvb, pinfo, root)
	pinfo.cols.protocol = "Tasuki"
	local fault = header_fault(tvb)
	if fault then
		local tree = root:add(tasuki, tvb(), "Tasuki packet")
		tree:add_proto_expert_info(malformed, "malformed: " .. fault)
		pinfo.cols.info = "malformed: " .. fault
		return tvb:len()
	end
	local length = tvb(4, 2):le_uint()
	local tree = root:add(tasuki, tvb(0, length))
	tree:add(f.version, tvb(1, 1))
	tree:add(f.tagged_packet, tvb(2, 1))
	local path = tvb(3, 1):uint()
	local rail, lane = path % 32, math.floor(path / 32)
	tree:add(f.rail, tvb(3, 1), rail)
	tree:add(f.lane, tvb(3, 1), lane)
	tree:add_le(f.length, tvb(4, 2))
	local number = tvb(6, 6):le_uint64()
	tree:add(f.number, tvb(6, 6), number)
	tree:add_le(f.endpoint, tvb(12, 4))
	tree:add_le(f.peer, tvb(16, 4))
	tree:add_le(f.token, tvb(20, 8))
	tree:add_le(f.checksum, tvb(28, 4))
	if tasuki.prefs.crc then
		local good = crc32c(tvb, length, CRC_AT) == tvb(28, 4):le_uint()
		tree:add(f.checksum_good, tvb(28, 4), good):set_generated(true)
		if not good then tree:add_proto_expert_info(bad_checksum) end
	end
	local flags, stop = tvb(2, 1):uint(), length
	local info = "rail " .. rail .. " " .. (LANES[lane] or "?") .. " #" .. tostring(number) .. ": "
	tree:append_text(", rail " .. rail .. " " .. (LANES[lane] or "?") .. ", number " .. tostring(number))
	if flags > 1 then fault = "flags" end
	if flags % 2 == 1 and length >= HEADER_LEN + 16 then stop = length - 16 end
	if lane > 2 then fault = "path" end
	if stop == HEADER_LEN then fault = "empty" end
	if fault then tree:add_proto_expert_info(malformed, "malformed: " .. fault) end
	info = info .. read_frames(tree, reader(tvb, HEADER_LEN, stop), tvb(16, 4):le_uint())
	if stop < length then tree:add(f.tag_bytes, tvb(stop, length - stop)) end
	pinfo.cols.info = info
	return length
end

-- Ports are any: what begins like a packet and is as long as it says is one.
local function looks_like_packet(tvb, pinfo, root)
	if header_fault(tvb) or tvb(4, 2):le_uint() ~= tvb:len() then return false end
	if tvb(2, 1):uint() > 1 or math.floor(tvb(3, 1):uint() / 32) ~= 1 then return false end
	tasuki.dissector(tvb, pinfo, root)
	return true
end

function cable.dissector(tvb, pinfo, root)
	pinfo.cols.protocol = "Tasuki cable"
	local tree = root:add(cable, tvb())
	local whole = tvb:len() >= CABLE_HEAD_LEN and tvb(0, 4):string() == "TSKP" and tvb(4, 1):uint() == 1
	local length = whole and tvb(6, 2):le_uint() or 0
	if length < CABLE_HEAD_LEN or length > tvb:len() then
		tree:add_proto_expert_info(cable_bad)
		pinfo.cols.info = "malformed cable probe"
		return tvb:len()
	end
	tree:add(c.version, tvb(4, 1))
	tree:add(c.kind, tvb(5, 1))
	tree:add_le(c.length, tvb(6, 2))
	tree:add_le(c.checksum, tvb(8, 4))
	local good = crc32c(tvb, length, CABLE_CRC_AT) == tvb(8, 4):le_uint()
	tree:add(c.checksum_good, tvb(8, 4), good):set_generated(true)
	tree:add_le(c.number, tvb(12, 4))
	tree:add_le(c.run, tvb(16, 8))
	tree:add_le(c.cluster, tvb(24, 4))
	tree:add_le(c.host, tvb(28, 2))
	tree:add_le(c.nic, tvb(30, 2))
	local host, nic = tvb(32, 1):uint(), tvb(33, 1):uint()
	local kind = CABLE_KINDS[tvb(5, 1):uint()] or "?"
	if host == 0 or nic == 0 or CABLE_HEAD_LEN + host + nic > length then
		tree:add_proto_expert_info(cable_bad)
		pinfo.cols.info = kind .. " (malformed)"
		return length
	end
	tree:add(c.host_name, tvb(CABLE_HEAD_LEN, host))
	tree:add(c.nic_name, tvb(CABLE_HEAD_LEN + host, nic))
	local body = CABLE_HEAD_LEN + host + nic
	if body < length then tree:add(c.body, tvb(body, length - body)) end
	pinfo.cols.info = kind .. " from " .. tvb(CABLE_HEAD_LEN, host):string() .. " " .. tvb(CABLE_HEAD_LEN + host, nic):string()
	return length
end

DissectorTable.get("ethertype"):add(0x88b5, tasuki)
DissectorTable.get("ethertype"):add(0x88b6, cable)
tasuki:register_heuristic("udp", looks_like_packet)
DissectorTable.get("udp.port"):add_for_decode_as(tasuki)
