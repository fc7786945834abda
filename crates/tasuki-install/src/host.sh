# What happens on a host: sh -c THIS tasuki-install VERB PREFIX [VERSION]. An empty PREFIX is the user's own
# ~/.local. What is to be installed comes on standard input. Answers are lines KEY=VALUE; `error` and `remedy`
# say what failed, and then the host is as it was. Debian's sh, tar, gzip and coreutils are all that is
# needed.
#
# $record, below what is installed, makes it possible to take everything back: `list` has a line "folder PATH"
# for each folder that was made and "file NAME" for each file that was put below PREFIX; `before/NAME` is the
# file that was there before. $stage, beside the prefix, is both the lock and the place where files wait: they
# are complete there before the first is renamed into its place. One that a crash has left is cleared first.
set -eu
LC_ALL=C
export LC_ALL
umask 022
verb=$1
prefix=$2
version=${3:-}
[ -n "$prefix" ] || prefix=$HOME/.local
own=$prefix/lib/tasuki
record=$own/install
login_path=$PATH
# These may be missing in the path of a login without a terminal.
PATH=$PATH:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin

fail() { # WHY REMEDY
	printf 'error=%s\nremedy=%s\n' "$(printf %s "$1" | tr '\n' ' ')" "$2"
	exit 0
}

# The folders above a path that are not there yet, the outermost first.
missing() { # PATH
	[ -d "$1" ] || { missing "$(dirname "$1")" && printf '%s\n' "$1"; }
}

# The nearest folder at or above a path that is there.
nearest() { # PATH
	if [ -d "$1" ]; then printf '%s\n' "$1"; else nearest "$(dirname "$1")"; fi
}

# The command that a login without a terminal finds.
found() {
	(PATH=$login_path && command -v tasuki) || true
}

version_of() { # PROGRAM
	"$1" --version 2>/dev/null | sed -n 's/^tasuki //p' || true
}

# The version that Debian's package manager has installed.
packaged() {
	command -v dpkg-query >/dev/null || return 0
	dpkg-query -W -f '${db:Status-Status} ${Version}\n' tasuki 2>/dev/null | sed -n 's/^installed //p'
}

# Removes those of these folders that are empty.
remove_folders() { # FOLDERS, one a line, the innermost first
	printf '%s\n' "$1" | while read -r one; do
		[ -z "$one" ] || rmdir "$one" 2>/dev/null || true
	done
}

# Ends an installation's or a removal's work below a stage, also if a crash has cut it off.
clear() { # STAGE
	folders=
	for list in "$1/record/list" "$1/list"; do
		[ ! -f "$list" ] || folders="$folders
$(sed -n 's/^folder //p' "$list" | sort -r)"
	done
	# Folders were made, and nothing was put into them.
	[ ! -f "$1/list" ] || [ -f "$record/list" ] || rm -rf "$record"
	remove_folders "$folders"
	rm -rf "$1"
	# The stage was in the outermost of them.
	remove_folders "$folders"
}

# Waits for another installation into this prefix, by a host that shares it for instance, and takes the lock.
lock() {
	here=$(uname -n)
	waited=0
	folder=$own
	while :; do
		other=$folder/.tasuki-install
		for left in "$other.$here."*; do
			[ ! -d "$left" ] || kill -0 "${left##*.}" 2>/dev/null || rm -rf "$left"
		done
		if [ -d "$other" ]; then
			by=$(cat "$other/by" 2>/dev/null || echo "an installation")
			case $by in
			"$here "*) kill -0 "${by#"$here "}" 2>/dev/null || { clear "$other" && continue; } ;;
			esac
			[ $waited -lt 60 ] || fail "$other is there: $by is at work or was cut off" \
				"if nothing is at work there, remove that folder"
			sleep 1
			waited=$((waited + 1))
			continue
		fi
		[ "$folder" != / ] || break
		folder=$(dirname "$folder")
	done
	base=$(nearest "$prefix")
	[ -w "$base" ] || fail "$(id -un) may not write below $base" \
		"log in as root, become root with --sudo, or install below the user's home with --user"
	stage=$base/.tasuki-install
	# The lock says whose it is from the moment on that it is there.
	mine=$stage.$here.$$
	said=$(mkdir "$mine" 2>&1) ||
		fail "cannot write below $base: $said" "install below another folder with --prefix"
	echo "$here $$" >"$mine/by"
	if ! said=$(mv -T "$mine" "$stage" 2>&1); then
		rm -rf "$mine"
		[ -d "$stage" ] || fail "cannot write below $base: $said" "install below another folder with --prefix"
		# Another one was faster.
		lock
	fi
}

probe() {
	there=$prefix/bin/tasuki
	[ -x "$there" ] || there=$(found)
	printf 'arch=%s\nprefix=%s\nfound=%s\npackage=%s\n' "$(uname -m)" "$prefix" "$(found)" "$(packaged)"
	[ -z "$there" ] || printf 'path=%s\nversion=%s\n' "$there" "$(version_of "$there")"
}

put() {
	lock
	mkdir "$stage/new" "$stage/before"
	tar -xzf - --no-same-owner -C "$stage/new" 2>"$stage/said" || {
		said=$(cat "$stage/said")
		rm -rf "$stage"
		fail "cannot unpack below $base: $said" "look for room with \`df $base\`"
	}
	works=$("$stage/new/bin/tasuki" --version 2>&1) || works="it does not run: $works"
	if [ "$works" != "tasuki $version" ]; then
		rm -rf "$stage"
		fail "this tasuki does not run there: $works" \
			"build Tasuki on a system as old as that one, or install its package with --deb"
	fi
	(cd "$stage/new" && find . -type f) | sed 's|^\./||' | sort >"$stage/files"
	{
		[ ! -f "$record/list" ] || cat "$record/list"
		{
			while read -r file; do missing "$(dirname "$prefix/$file")"; done <"$stage/files"
			missing "$own"
		} | sed 's/^/folder /'
		sed 's/^/file /' "$stage/files"
	} | sort -u >"$stage/list"
	while read -r file; do
		[ -e "$prefix/$file" ] || [ -L "$prefix/$file" ] || continue
		[ ! -f "$record/list" ] || ! grep -qxF "file $file" "$record/list" || continue
		mkdir -p "$stage/before/$(dirname "$file")"
		cp -a "$prefix/$file" "$stage/before/$file"
	done <"$stage/files"
	sed -n 's/^folder //p' "$stage/list" | while read -r folder; do mkdir -p "$folder"; done
	mkdir -p "$record/before"
	cp -a "$stage/before/." "$record/before"
	mv -f "$stage/list" "$record/list"
	# From here on the record says how everything is taken back. The command comes last: by it the next
	# installation sees that this one is whole.
	{ grep -vxF bin/tasuki "$stage/files"; echo bin/tasuki; } >"$stage/order"
	while read -r file; do mv -f "$stage/new/$file" "$prefix/$file"; done <"$stage/order"
	rm -rf "$stage"
	printf 'path=%s\nversion=%s\n' "$prefix/bin/tasuki" "$(version_of "$prefix/bin/tasuki")"
	printf 'found=%s\n' "$(found)"
}

take() {
	lock
	if [ ! -f "$record/list" ]; then
		rm -rf "$stage"
		if [ -n "$(packaged)" ]; then
			[ -f /var/lib/tasuki/installed-package ] || fail "a package was installed there by other means" \
				"remove it with \`apt-get purge tasuki\`"
			take_package
		fi
		echo "absent=yes"
		return
	fi
	sed -n 's/^file //p' "$record/list" | while read -r file; do
		if [ -e "$record/before/$file" ] || [ -L "$record/before/$file" ]; then
			cp -a "$record/before/$file" "$stage/file"
			mv -f "$stage/file" "$prefix/$file"
		else
			rm -f "$prefix/$file"
		fi
	done
	mv "$record" "$stage/record"
	clear "$stage"
	echo "removed=yes"
}

# Debian's package, which comes on standard input.
put_package() {
	[ "$(id -u)" = 0 ] || fail "$(id -un) may not install packages" "log in as root, or become root with --sudo"
	command -v dpkg >/dev/null || fail "it has no dpkg" "install without --deb"
	before=$(packaged)
	file=$(mktemp -d)
	cat >"$file/tasuki.deb"
	dpkg -i "$file/tasuki.deb" >"$file/said" 2>&1 || {
		said=$(grep -i 'error\|depend\|match' "$file/said" | head -n 3)
		# What was not installed before is taken away again.
		[ -n "$before" ] || dpkg --purge tasuki >/dev/null 2>&1 || true
		rm -rf "$file"
		fail "dpkg refuses the package: $said" \
			"try \`apt-get install ./PACKAGE\` there, which fetches what it needs"
	}
	rm -rf "$file"
	if [ -z "$before" ]; then
		mkdir -p /var/lib/tasuki
		: >/var/lib/tasuki/installed-package
	fi
	printf 'path=/usr/bin/tasuki\nversion=%s\nfound=%s\n' "$(version_of /usr/bin/tasuki)" "$(found)"
}

take_package() {
	said=$(dpkg --purge tasuki 2>&1) ||
		fail "dpkg does not remove the package: $said" "look at \`dpkg -s tasuki\`"
	rm -f /var/lib/tasuki/installed-package
	rmdir /var/lib/tasuki 2>/dev/null || true
	echo "removed=yes"
	exit 0
}

$verb
