# SPDX-License-Identifier: MIT
"""Pictures looked at by a program: size, colours that must and must not be there, the one spike that must not be lost."""

import os
import struct
import zlib
from xml.etree import ElementTree

import exported
import tap
from cli import DATA, H200, ROOT
from cli import stormlog as run_stormlog

LIGHT, DARK = 0xFFFFFF, 0x0D1117
ALARM = 0xCF222E
KINDS = ("timeline", "sites", "flame")
FONTS = {"LSAN_OPTIONS": f"suppressions={ROOT}/tests/cli/lsan_fonts.supp:print_suppressions=0"}


def stormlog(*arguments):
    return run_stormlog(*arguments, env=FONTS)


class Png:
    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        tap.equal(data[:8], b"\x89PNG\r\n\x1a\n", "signature")
        at, body = 8, b""
        while at < len(data):
            length, kind = struct.unpack(">I4s", data[at:at + 8])
            chunk = data[at + 8:at + 8 + length]
            tap.equal(struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0], zlib.crc32(kind + chunk), "checksum")
            if kind == b"IHDR":
                self.width, self.height, depth, color, *_ = struct.unpack(">IIBBBBB", chunk)
                tap.equal((depth, color), (8, 2), "8 bits, RGB")
            elif kind == b"IDAT":
                body += chunk
            at += 12 + length
        self.rows = self.unfilter(zlib.decompress(body))

    def unfilter(self, raw):
        stride, rows, above = self.width * 3, [], bytearray(self.width * 3)
        for y in range(self.height):
            kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
            for x in range(stride if kind else 0):
                left, up, corner = line[x - 3] if x > 2 else 0, above[x], above[x - 3] if x > 2 else 0
                line[x] = (line[x] + self.predict(kind, left, up, corner)) & 255
            rows.append(line)
            above = line
        return rows

    @staticmethod
    def predict(kind, left, up, corner):
        if kind < 4:
            return (0, left, up, (left + up) // 2)[kind]
        guess = left + up - corner
        return min((left, up, corner), key=lambda value: abs(guess - value))

    def pixel(self, x, y):
        red, green, blue = self.rows[y][3 * x:3 * x + 3]
        return red << 16 | green << 8 | blue

    def column(self, x):
        return [self.pixel(x, y) for y in range(self.height)]

    def count(self, rgb):
        wanted = bytes((rgb >> 16, rgb >> 8 & 255, rgb & 255))
        return sum(bytes(row[i:i + 3]) == wanted for row in self.rows for i in range(0, len(row), 3))


def plot(*arguments):
    done = stormlog("plot", *arguments)
    if done.returncode == 4 and "no cairo" in done.stderr:
        tap.skip("this build has no cairo")
    return done


def draw(path, out, *options):
    done = plot(path, "-o", out, *options)
    tap.equal((done.returncode, done.stdout, done.stderr), (0, "", ""), f"plot {path} {options}")
    return out


def refuse(code, part, *arguments):
    done = plot(*arguments)
    tap.equal(done.returncode, code, f"{arguments}: {done.stderr}")
    tap.contains(done.stderr, part)
    tap.equal(len(done.stderr.splitlines()), 1, "one line")


def longest_run(values, wanted):
    best = run = 0
    for value in values:
        run = run + 1 if value == wanted else 0
        best = max(best, run)
    return best


def add_kind_test(path):
    @tap.test(f"pictures of {path.name}: every kind, light and dark")
    def _(folder):
        for kind in KINDS:
            for theme, background in (("light", LIGHT), ("dark", DARK)):
                png = Png(draw(path, f"{folder}/p.png", "--kind", kind, "--theme", theme, "--size", "640x400"))
                tap.equal((png.width, png.height), (640, 400), "size")
                tap.equal(png.pixel(0, 0), background, f"background of {kind}")
                drawn = 640 * 400 - png.count(background)
                tap.true(drawn > 640 * 400 // 20, f"{kind}: {drawn} pixels differ from the background")


for item in H200:
    add_kind_test(item)


@tap.test("a failed request is a red line from top to bottom, and only there")
def _(folder):
    size = ("--size", "800x500")
    oom = Png(draw(DATA / "h200/s5_oom.pickle.gz", f"{folder}/oom.png", *size))
    longest = max(longest_run(oom.column(x), ALARM) for x in range(oom.width))
    # The line is 1.5 pixels wide, so one column of it is the full colour.
    tap.true(longest > 250, f"{longest} red pixels in one column")
    healthy = Png(draw(DATA / "h200/s3_baseline.pickle.gz", f"{folder}/ok.png", *size))
    tap.equal(healthy.count(ALARM), 0, "red pixels of a healthy run")


@tap.test("a leak is annotated in red")
def _(folder):
    leak = Png(draw(DATA / "h200/s2_retention.pickle.gz", f"{folder}/leak.png"))
    tap.true(leak.count(ALARM) > 100, f"{leak.count(ALARM)} red pixels")


@tap.test("one spike among 20,000 events keeps its height")
def _(folder):
    # 64 MiB come and go all the time; once, for a single microsecond, there are 1,000 MiB more.
    events, mib = [], 1 << 20
    frame = [("step", "train.py", 7)]
    for i in range(10_000):
        events.append(exported.event("alloc", 4096, 64 * mib, 2 * i, frame))
        if i == 5_000:
            events.append(exported.event("alloc", 1 << 32, 1000 * mib, 2 * i, frame))
            events.append(exported.event("free_completed", 1 << 32, 1000 * mib, 2 * i, frame))
        events.append(exported.event("free_completed", 4096, 64 * mib, 2 * i + 1, frame))
    png = Png(draw(exported.save(folder, events), f"{folder}/s.png", "--size", "700x400"))
    # Blue of the first series, as it lies on white with 85 percent.
    blue = lambda rgb: (rgb & 255) > 190 and (rgb >> 16) < 140  # noqa: E731
    tops = [next((y for y in range(80, 350) if blue(png.pixel(x, y))), 350) for x in range(90, 650)]
    heights = [350 - top for top in tops]
    base = sorted(heights)[len(heights) // 2]
    tap.true(max(heights) > 8 * base > 0, f"highest column {max(heights)} pixels, usual {base}")


@tap.test("an SVG is well-formed, of its size, and asks nothing of the network")
def _(folder):
    path = draw(DATA / "h200/s1_loss_history.pickle.gz", f"{folder}/p.svg", "--size", "1000x500")
    root = ElementTree.parse(path).getroot()
    tap.equal(root.tag, "{http://www.w3.org/2000/svg}svg", "root")
    tap.equal([root.get(key).removesuffix("pt") for key in ("width", "height")], ["1000", "500"], "size")
    for element in root.iter():
        tap.true(not element.tag.endswith(("script", "foreignObject")), element.tag)
        for key, value in element.attrib.items():
            tap.true(not key.endswith("href") or value.startswith(("#", "data:")), f"{key}={value[:60]}")


@tap.test("the same input gives the same picture")
def _(folder):
    path = DATA / "h200/s6_expandable.pickle.gz"
    one, two = draw(path, f"{folder}/1.png"), draw(path, f"{folder}/2.png")
    with open(one, "rb") as a, open(two, "rb") as b:
        tap.true(a.read() == b.read(), "equal bytes")


@tap.test("several inputs are compared; samples have a timeline, and a ledger where they know the card")
def _(folder):
    draw(DATA / "h200/s1_loss_history.pickle.gz", f"{folder}/r.png", DATA / "h200/s5_oom.pickle.gz")
    events = DATA / "peer/leaky/events.json"
    draw(events, f"{folder}/t.png")
    ledger = Png(draw(events, f"{folder}/l.png", "--kind", "ledger", "--size", "900x500"))
    tap.true(ledger.count(LIGHT) < 900 * 500, "something is drawn")
    draw(events, f"{folder}/two.png", DATA / "peer/baseline/events.json")
    refuse(3, "know no line of code", events, "-k", "flame", "-o", f"{folder}/x.png")


@tap.test("what an input lacks is reported in one line, with exit code 3")
def _(folder):
    out = f"{folder}/x.png"
    refuse(3, "no readings of the device's own counters", DATA / "h200/s5_oom.pickle.gz", "-k", "ledger", "-o", out)
    refuse(3, "no history", DATA / "corpus/x1_state_mode.pickle.gz", "-o", out)
    refuse(3, "nothing to draw", exported.save(folder, []), "-o", out)
    refuse(3, "no-such-file", f"{folder}/no-such-file.pickle", "-o", out)
    tap.true(not os.path.exists(out), "no file is left behind")


@tap.test("wrong use is exit 2, an output that cannot be written exit 3 or 4")
def _(folder):
    path, out = DATA / "h200/s5_oom.pickle.gz", f"{folder}/x.png"
    refuse(2, "-o out.png", path)
    refuse(2, "must end in .png or .svg", path, "-o", f"{folder}/x.jpg")
    refuse(2, "'bars' is not one of timeline|sites|flame|ledger|ranks", path, "-o", out, "--kind", "bars")
    for size in ("10x10", "1200", "1200x", "9999x600", "1200x600px", "-5x900"):
        refuse(2, "--size", path, "-o", out, f"--size={size}")
    refuse(2, "shows one input", path, path, "-o", out, "-k", "timeline")
    refuse(2, "compares several inputs", path, "-o", out, "-k", "ranks")
    refuse(2, "device", path, "-o", out, "--device", "7")
    done = plot(path, "-o", f"{folder}/nowhere/x.png")
    tap.true(done.returncode in (3, 4) and "nowhere" in done.stderr, f"{done.returncode} {done.stderr}")
    done = plot(path, "-o", f"{folder}/x.png", "--size", "300x300", "--top", "1")
    tap.equal(done.returncode, 0, done.stderr)


@tap.test("strange traces give a picture or a reason, never a crash")
def _(folder):
    huge = [exported.event("alloc", 1 << 40, (1 << 62) + 5, 3, [exported.HOSTILE])]
    same = [exported.event("alloc", 512 * i, 100, 7) for i in range(1, 50)]
    far = [exported.event("alloc", 512, 100, 0), exported.event("alloc", 2048, 100, 1),
           exported.event("alloc", 4096, 100, 9 * 10 ** 17), exported.event("alloc", 9192, 100, 9 * 10 ** 17 + 1)]
    back = [exported.event("alloc", 512 * i, i, 1000 - i) for i in range(1, 20)]
    deep = [exported.event("alloc", 512, 100, 1, [(f"f{i}", "deep.py", i + 1) for i in range(400)])]
    for name, events in (("huge", huge), ("same", same), ("far", far), ("back", back), ("deep", deep)):
        path = exported.save(folder, events, name=f"{name}.pickle")
        for kind in KINDS:
            for end in ("png", "svg"):
                done = plot(path, "-k", kind, "-o", f"{folder}/x.{end}", "--size", "400x300")
                tap.true(done.returncode in (0, 3), f"{name} {kind}: exit {done.returncode} {done.stderr}")
                tap.true(done.returncode == 0 or done.stderr.startswith("stormlog: "), f"{name} {kind}: {done.stderr}")


tap.main()
