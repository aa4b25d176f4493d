"""Tables of the PTX machine beside a GPU, for tools/render_tables: counters, matrix, corpus."""


def table(head, rows, left=1):
    """The first columns to the left, the others to the right."""
    lines = [head, ["---"] * left + ["---:"] * (len(head) - left)] + rows
    return "".join("| " + " | ".join(str(cell) for cell in line) + " |\n" for line in lines)


def provenance(results, tool=None):
    tool = f", Nsight Compute {results['ncu'].split()[0]}" if tool == "ncu" else (
        f", compute-sanitizer {results['compute_sanitizer'].split()[0]}" if tool else "")
    return f"{results['device']}, driver {results['driver']}{tool}, {results['measured'][:10]}."


def number(value):
    return "–" if value is None else f"{value:.2f}".rstrip("0").rstrip(".")


def pair(figure):
    """One figure where both sides agree, else both."""
    gpu, machine = number(figure["gpu"]), number(figure["machine"])
    return gpu if gpu == machine else f"{gpu} / {machine}"


def counters_table(results):
    rows, merged = [], []
    for row in results["rows"]:
        compared = row["compared"]
        fma = compared["fma_warp_instructions"]
        counts = [f"{value:,.0f}" for value in (fma["gpu"], fma["machine"])]
        waves = compared["wavefronts_per_shared_load"]
        apart = waves["agrees"] is None
        if apart and row["name"] not in merged:
            merged.append(row["name"])
        judged = [figure["agrees"] for figure in compared.values() if figure["agrees"] is not None]
        rows.append([f"[{row['name']}](../examples/{row['name']}.tile)", row["shape"],
                     counts[0] if counts[0] == counts[1] else " / ".join(counts),
                     pair(compared["sectors_per_request"]),
                     pair(waves) + (" ¹" if apart else ""), "yes" if all(judged) else "no"])
    head = ["", "M x N x K", "FMA warp instructions", "sectors a global request",
            "wavefronts a shared load", "agree"]
    note = "Where the two differ, the GPU's figure stands first. " + provenance(results, "ncu")
    if merged:
        note += ("\n\n¹ The assembler makes one wide load of several narrow ones "
                 f"({', '.join(merged)}), so the two count different instructions; not judged.")
    return table(head, rows, 2) + "\n" + note + "\n"


def matrix_table(results):
    forms = {}
    for row in results["rows"]:
        forms.setdefault(row["form"], []).append(row)
    rows = []
    for form, mine in forms.items():
        elements = sum(row["elements"] for row in mine)
        same = sum(row["equal"] + row["both_nan"] for row in mine)
        apart = [row["largest_units"] for row in mine if row["equal"] < row["elements"]]
        units = [value for value in apart if value is not None]
        rows.append([f"`{form}`", " ".join(dict.fromkeys(row["class"] for row in mine)),
                     f"{elements:,}", f"{elements - same:,}",
                     "–" if same == elements or not units else f"{max(units):.2g}",
                     "yes" if all(row["held"] for row in mine) else "no"])
    head = ["form", "inputs", "elements", "not bit for bit", "most units apart", "within a unit"]
    return table(head, rows, 2) + "\n" + provenance(results) + "\n"


def found(side, tool):
    """What a tool says of a kernel and its twin."""
    said = side["fault"].get(tool)
    if said is None:
        return ""
    if said.get("hangs"):
        return "hangs"
    if not said["found"]:
        return "–"
    twin = side["clean"].get(tool)
    return "found, twin too" if twin and twin["found"] else "found"


def corpus_table(results):
    tools = ["memcheck", "racecheck", "initcheck", "synccheck"]
    rows, counts = [], dict.fromkeys(["machine"] + tools, 0)
    for row in results["rows"]:
        machine = row["fault"]["machine"]["found"] == row["expected"]
        clean = not row["clean"]["machine"]["found"]
        said = [found(row, tool) for tool in tools]
        counts["machine"] += machine and clean
        for tool, word in zip(tools, said):
            counts[tool] += word == "found"
        alone = row["fault"].get("alone", {})
        rows.append([f"[{row['name']}](../tests/ptx/corpus/{row['name']}.ptx)",
                     "found" if machine and clean else "MISSED",
                     "hangs" if alone.get("hangs") else "fails" if alone.get("exit_code") else "–"]
                    + said)
    rows.append([f"**{len(results['rows'])} kernels**", counts["machine"], ""]
                + [counts[tool] for tool in tools])
    head = ["fault", "PTX machine", "GPU alone"] + tools
    note = ("The last row counts kernels whose fault is found and whose twin is not accused. "
            + provenance(results, "sanitizer"))
    return table(head, rows, len(head)) + "\n" + note + "\n"


def divided_sentence(results):
    """Kernels that share out their work, under compute-sanitizer."""
    rows = results["rows"]
    names = list(dict.fromkeys(row["name"] for row in rows))
    ways = list(dict.fromkeys(row["way"] for row in rows))
    tools = list(dict.fromkeys(row["tool"] for row in rows))
    shapes = list(dict.fromkeys(row["shape"] for row in rows))
    unclean = [f"{row['name']} ({row['way']}) under {row['tool']}"
               for row in rows if not row["clean"]]
    verdict = "all are clean" if not unclean else "not clean: " + ", ".join(unclean)
    return (f"{', '.join(tools[:-1])} and {tools[-1]} over {len(names)} kernels "
            f"({', '.join(names)}; {', '.join(ways)}) at {' and '.join(shapes)}: {len(rows)} "
            f"runs, {verdict}.\n")


def library_sentence(results):
    """Random calls of libtilec beside cublasSgemm."""
    largest = "NaN" if results["worst_error"] is None else f"{results['worst_error']:.3f}"
    text = (f"{results['calls']} random calls of libtilec on {results['device']}, by "
            f"{results['kernels']} kernels: {results['wrong']} wrong, largest error {largest} of "
            f"the bound; {results['bit_equal']} bit for bit as cuBLAS {results['cublas']} does it")
    if results["cublas_wrong"]:
        kinds = {row["kind"]: row["cublas_wrong"] for row in results["rows"]}
        where = ", ".join(f"{count} of {kind}" for kind, count in kinds.items() if count)
        text += f", which itself failed the check in {results['cublas_wrong']} ({where})"
    return text + ".\n"


# --- the report's ---------------------------------------------------------------------------------


def losses_table(results):
    """What became of the share of peak where one loss was changed."""
    rows = {row["name"]: row for row in results["rows"]}
    lines = []
    for change in results["changes"]:
        row = rows[change["name"]]
        lines.append(f"| `{row['spec']}` | {row['shape']} | {change['loss'].replace('_', ' ')} | "
                     f"{change['predicted_change_points']:+.1f} | "
                     f"{change['measured_change_points']:+.1f} |\n")
    head = "| against the best spec at 4096 | M x N x K | changes | predicted | measured |\n"
    return head + "| --- | --- | --- | ---: | ---: |\n" + "".join(lines)


def scaled(value, unit):
    """As `tilec profile` writes it: 335.6 M, 396.2 MB, 79.9 %, 2449.2 us."""
    if unit == "%":
        return f"{value:.1f} %"
    if unit == "ns":
        return f"{value / 1e3:.1f} us"
    for scale, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= scale and not (letter == "k" and value < 1e4):
            return f"{value / scale:.1f} {letter}{unit}"
    return f"{value:.0f}" if value == int(value) else f"{value:.2f}"


def profile_table(profile):
    """The lines of the loss table, each with what was counted for it; 0 is left out."""
    lines = []
    for loss in profile["loss_table"]:
        counted = [f"{scaled(c['value'], c.get('unit', ''))} {c['title']}"
                   for c in profile["counters"] if c["loss"] == loss["loss"] and c["value"]]
        if loss["points"] >= 0.05 or counted:
            lines.append(f"| {loss['loss'].replace('_', ' ')} | {loss['points']:.1f} | "
                         f"{'; '.join(counted) or '–'} |\n")
    lines.append(f"| share of peak | {100 * profile['predicted_share_of_peak']:.1f} | "
                 f"measured: {100 * profile['share_of_peak']:.1f} |\n")
    product = 100 * profile["issue_rate"] * profile["fma_share"]
    said = (f"\n{profile['source']}: issue rate {profile['issue_rate']:.3f} x FMA share "
            f"{profile['fma_share']:.3f} = {product:.1f} % of peak.\n")
    head = "| points of peak | predicted | counted |\n| --- | ---: | --- |\n"
    return head + "".join(lines) + said
