# ruff: noqa: E501 - a pattern is easier to read whole than folded
"""The phrases by which text speaks to a model: kind, weight, words without which a pattern is not tried,
and the pattern, over text in lower case. A word may be several joined by `&`: all must be there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

_TARGETS = (
    r"i\w{0,3}str\w{0,3}ctions?|prompts?|rules?|guidelines?|directions?|directives?"
    r"|guardrails?|guidance|restrictions?|polic(?:y|ies)|context|commands?|orders?|constraints?|messages?|tasks?|assignments?"
    r"|brief(?:ing)?"
)
_TARGET = f"(?:{_TARGETS})"
_GUIDES = (
    r"i\w{0,3}str\w{0,3}ctions?|prompts?|rules?|guidelines?|directions?|directives?|guardrails?|guidance"
    r"|restrictions?|constraints?|brief(?:ing)?"
)
"""What guides a model and nothing else: an order or a policy may be a customer's."""
_OLD = r"(?:previous|prior|above|earlier|preceding|original|initial|existing|current|former|all|any|every|your|system|these|those|the)"
_ADDRESSEE = (
    r"(?:ai|a\.i\.|llm|language model|ai model|assistant|ai assistant|chat ?bot|bot|copilot|automated (?:reviewer|reader|agent|system)"
    r"|(?:ai|autonomous|automation|llm) agent)"
)
ACT = (
    r"(?:send|e-?mail|post|transfer|wire|pay|forward|delete|remove|drop|create|make|invite|add"
    r"|click|visit|open|go to|change|update|set|reset|say|tell|recommend|get|reserve|book|buy|purchase"
    r"|order|download|upload|share|publish|execute|run|install|disable|enable|grant|approve|concatenate"
    r"|reply|write|call|schedule|cancel|restart|scale|exfiltrate|leak|reveal|print|output|include)"
)
_ANSWER = r"(?:answers?|responses?|repl(?:y|ies)|output|summary|summaries|report|conclusions?|findings?|verdict)"
SHAPE = (
    r"(?:render|modify|write|rewrite|format|use|include|mention|insert|add|append|begin|start|end|translate"
    r"|encode|compose|present|display|give|provide|deliver|craft|express|phrase|incorporate|reverse|replace"
    r"|conclude|finish|answer|respond|reply|make|put|state|limit|embed|employ|convert|apply|weave|sprinkle)"
)
_SECRET = (
    r"(?:passwords?|passphrases?|secrets?|(?:api|access|private|ssh|encryption)[ _-]?keys?|tokens?|credentials?"
    r"|system prompt|hidden prompt|environment variables?|\.env\b|[a-z]+_(?:password|token|secret|key)"
    r"|(?:security|verification|one-time) codes?|conversation history|cookies?)"
)


_PATTERNS: tuple[tuple[str, float, tuple[frozenset[str], ...], re.Pattern[str]], ...] = tuple(
    (kind, weight, tuple(frozenset(w.split("&")) for w in needs.split()), re.compile(pattern))
    for kind, weight, needs, pattern in (
        (
            "override",
            1.0,
         "ignor disregard forget overrid overrul bypass discard neglect never&mind set&aside attention follow obey",
        
            r"\b(?:ignore|disregard|forget|override|overrule|bypass|discard|neglect|do not follow"
            r"|don't follow|stop following|no longer follow|never ?mind|set aside|pay no attention to"
            r"|(?:do not|don't|stop) obey(?:ing)?)\b[\s,:]+"
            r"(?:\w+[\s,]+){0,4}?" + _OLD
            + r"\b[\s,]+(?:\w+[\s,]+){0,3}?" + _TARGET + r"\b",
        ),
        (
            "override",
            1.0,
         "ignor disregard forget",
        
            r"\b(?:ignore|disregard|forget)\b[\s,:]+(?:everything|anything|all|what(?:ever)?)\b"
            r"[\s\w,']{0,30}\b(?:above|before|previously|so far|prior|told|said|instructed|earlier|know)\b",
        ),
        ("override", 1.0,
         "longer void cancel lifted obsolete overrul overrid supersed suspend revoke invalid",
         r"(?:\b(?:your|any|(?:operator|developer|owner|administrator)(?:'s)?)\b[^.!?\n]{0,40}?\b(?:" + _GUIDES + r"|told you)\b"
                          r"|\b(?:" + _GUIDES + r")\b (?:(?:that|which) )?you (?:were|have been|had been) (?:given|told)\b)[^.!?\n]{0,40}?"
                          r"\b(?:no longer (?:appl|hold|bind|valid|in force)|(?:is|are|were|as|being|considered|now)"
                          r" (?:\w+ )?(?:void|cancell?ed|lifted|obsolete|overrul|overrid|supersed|suspended|revoked|invalid))"),
        ("override", 1.0,
         "cancel supersede replace skip scrap abandon wipe reset throw&away drop leave&behind",
         r"\b(?:cancel|supersede|replaces?|skip|scrap|abandon|wipe|reset|drop|throw away|leave behind)\b[\s,:]+(?:\w+[\s,]+){0,4}?"
                          + _OLD + r"\b[\s,]+(?:\w+[\s,]+){0,3}?(?:" + _GUIDES + r"|assignments?|system message)\b"),
        (
            "override",
            1.0,
         "new updated revised real actual true",
        
            r"\b(?:new|updated|revised|real|actual|true)\b[\s,]+(?:\w+\s+){0,2}(?:instructions?|task|objective"
            r"|goal|directive|orders?|polic(?:y|ies)|system prompt)\s*(?::|\bis\b|\bare\b)",
        ),
        ("override", 1.0,
         "instruction order command",
         r"\b(?:strictly (?:adhere to|follow|obey|comply with|execute) (?:the|this|these|my)|(?:adhere to|follow|obey|comply with|execute)"
                          r" (?:only (?:the|this|these|my)|(?:this|these|my)(?= (?:following )?(?:orders?|commands?)|\b[^.!?\n]{0,40}\b(?:instead|only|now)\b)|my))"
                          r" (?:following )?(?:instructions?|orders?|commands?)\b"),
        ("override", 0.6,
         "instruction",
         r"\b(?:adhere to|follow|obey|comply with|execute) (?:the|this|these) (?:following )?instructions?\b"),
        ("override", 1.0,
         "you",
         r"\byou (?:are|will|must|should|shall) (?:now|from now on|henceforth)\b"
                          r"|\bfrom now on,? you\b|\byou are no longer\b"),
        ("override", 1.0,
         "mode anything&now",
         r"\b(?:developer|debug|god|admin(?:istrator)?|jailbreak|dan|unrestricted|maintenance)"
                          r" mode (?:is )?(?:now )?(?:on|enabled|activated|engaged)\b|\bdo anything now\b"),
        # other languages: verb, then the earlier instructions
        ("override", 1.0,
         "vergiss vergessen ignorier missacht",
         r"\b(?:vergiss|vergessen sie|ignorier(?:e|en sie)?|missachte(?:n sie)?)\b.{0,40}"
                          r"\b(?:anweisung|anweisungen|instruktionen|regeln|vorgaben|befehle?)\b"),
        ("override", 1.0,
         "ignor oubli compte",
         r"\b(?:ignore[zr]?|oublie[zr]?|ne (?:tiens|tenez) (?:pas|plus) compte)\b.{0,40}"
                          r"\b(?:instructions?|consignes?|r[eè]gles|directives?) (?:pr[eé]c[eé]dent|ant[eé]rieur|ci-dessus|re[cç]ue|donn[eé]e)"),
        ("override", 1.0,
         "ignor olvid esque desconsidere dimentica",
         r"\b(?:ignor[ae](?:d|r|te)?|olvid[ae](?:d|r|te)?|esque[cç]a|desconsidere|dimentica(?:te)?)\b"
                          r".{0,40}\b(?:instruc(?:ciones|[cç][oõ]es)|istruzioni|[oó]rdenes|ordens|reglas|regras|regole)\b"),
        ("override", 1.0,
         "negeer vergeet zignoruj zapomnij",
         r"\b(?:negeer|vergeet)\b.{0,40}\b(?:instructies|opdrachten|regels)\b"
                          r"|\b(?:zignoruj|zapomnij)\b.{0,40}\b(?:instrukcj|polece)"),
        ("override", 1.0,
         "игнорир забуд обращ",
         r"(?:игнорируй|игнорируйте|забудь|забудьте|не обращай).{0,40}(?:инструкци|указани|правил|команд)"),
        ("override", 1.0,
         "忽略 无视 忘 不要 無視 무시",
         r"(?:忽略|无视|忘记|不要理会|不要遵守).{0,12}(?:指令|指示|说明|提示|规则|命令)"
                          r"|(?:指示|命令|指令|ルール)を?(?:すべて)?(?:無視|忘れ)|(?:지시|명령|지침).{0,6}무시"),
        ("impersonation", 1.0,
         "<|im <|sys <|us <|ass <|end <|start <|eot [inst [/inst <<sys tool_ function_ system_ system- instruction information <system <user <assistant",
         r"<\|?(?:im_start|im_end|system|user|assistant|endoftext|start_header_id|eot_id)\|?>"
                               r"|\[/?inst\]|<<sys>>|</?(?:tool_result|function_result|tool_response|system_prompt"
                               r"|system-reminder|system_message|instructions?|information)\s*>"),
        ("impersonation", 1.0,
         "system developer admin user assistant",
         r"[#\[({<*]{1,4}\s*(?:system|developer|admin(?:istrator)?|user|assistant)"
                               r"(?:[ _-]?(?:message|prompt|instruction|override|note|notice|update))?\s*[\])}>*:#]"),
        ("impersonation", 1.0,
         "role&content",
         r"[\"']role\\?[\"']\s*:\s*\\?[\"'](?:system|developer)\\?[\"']\s*,\s*\\?[\"']content\\?[\"']"),
        ("impersonation", 1.0,
         "comes&from come&from sent&by instruct&you order&you",
         r"\b(?:message|note|notice|update|text)s? (?:comes? from|(?:is|was) sent by|is from) (?:the|your) (?:developers?|creators?|operators?|administrators?|system|owners?|user)\b"
                               r"|\b(?:operator|administrator|developer|owner|system|platform)s? (?:hereby )?(?:instruct|order|command|direct)s? you to\b"),
        ("impersonation", 1.0,
         "begin start end",
         r"[-=#*<\[]{2,}\s*(?:begin|start|end)(?: of)? (?:the )?(?:trusted |system |new |admin |official |secret |internal )*(?:instructions?|prompt|directives?|system message)\b"),
        ("impersonation", 0.6,
         "system developer assistant human ai",
         r"(?:^|\n|\\n)\s*#*\s*(?:system|developer|assistant|human|ai)\s*:\s+\w"),
        ("impersonation", 1.0,
         "your the&developer administrator openai anthropic google",
         r"\b(?:this is|i am|i'm|message from|note from|instructions? from|on behalf of) (?:\w+ )?(?:\w+,? )?"
                               r"(?:your (?:developer|creator|operator|administrator|owner|boss|principal|user)"
                               r"|the (?:developer|system administrator|openai|anthropic|google) ?(?:team)?)\b"),
        ("impersonation", 1.0,
         "message&from",
         r"\b(?:important )?message from (?:me|the user|your user)\b.{0,60}\b" + _ADDRESSEE + r"\b"),
        ("addressed to a model", 1.0,
         "dear hey hi hello attention note message to for you",
         r"\b(?:dear|hey|hi|hello|attention|note (?:to|for)|message (?:to|for)|to|you,|for)"
                                      r"[\s:,]+(?:the |any |all |my )?" + _ADDRESSEE + r"s?\b\s*[:,!.]"),
        ("addressed to a model", 1.0,
         "if&you you&are as",
         r"\b(?:if you(?:'re| are)|you are|as) (?:an?|the) " + _ADDRESSEE
                                      + r"\b(?:[,.:;!]| (?:you|model|reading|processing|must|should|please|tasked|that)\b)"),
        ("addressed to a model", 1.0,
         "hint note instruction message prompt",
         r"\b\w*(?:hint|note|instruction|message|prompt)s?_?(?:for|to)_?(?:the_)?"
                                      r"(?:ai|llm|agent|assistant|model)\b"),
        ("addressed to a model", 1.0,
         "ai a.i. llm model assistant chat bot copilot agent",
         r"\b(?:" + _ADDRESSEE + r")s?\b[\s,:]+(?:please |must |should |shall |needs? to |has to )"
                                      r"(?:\w+ )?" + ACT + r"\b"),
        ("task", 1.0,
         "todo to&do task action urgent important",
         r"(?<![#/*] )(?<![#/*])\b(?:todo|to do|task|action(?: required| item)?|urgent(?: task)?|important(?: task)?)"
                      r"\s*[:!]+\s*(?:please |immediately |you must |now )?" + ACT + r"\b"),
        ("task", 1.0,
         "before after instead order",
         r"\b(?:before|after|instead of|in order to) (?:you )?(?:can )?(?:solve|complet|finish|answer|continu|perform|do)"
                      r"\w*\b[^.!?\n]{0,60}\b(?:task|request|question|instructions?)\b[^.!?\n]{0,60}\b(?:first|please|must|do the following)\b"),
        ("task", 1.0,
         "following",
         r"\b(?:do|perform|execute|complete) the following (?:first|task|steps?|actions?|instead)\b"),
        ("your answer", 1.0,
         "answer response repl output summar report conclusion finding verdict",
         r"(?:^|[.!?|\n:]\s*)(?:please |also |always |kindly |and |then )*" + SHAPE
                             + r"\b[^.!?|\n]{0,80}\b(?:your|the final|this) " + _ANSWER + r"\b"),
        ("your answer", 1.0,
         "your&should your&must your&shall your&ought",
         r"\byour (?:next |final |whole |entire )?(?:answer|response|reply|output|summary|report)\b (?:should|must|shall|ought to) (?:\w+ )?(?:only |just |simply )?"
                             r"(?:contain|be|say|read|end|start|begin|include|mention|consist|state|recommend|claim|hide|omit)\b"),
        ("secrets", 1.0,
         "your",
         r"\b(?:reveal|repeat|print|show|translate|dump|output|recite|quote|disclose|paste|write out)\b[^.!?\n]{0,30}\b(?:your|the) (?:own |full |entire |hidden |initial |original |secret )*"
                         r"(?:system prompt|system message|hidden prompt|initial prompt|instructions you (?:were|have been)|hidden context|internal directives?)\b"),
        ("your answer", 1.0,
         "your",
         r"\b(?:in|at the (?:end|start|beginning) of|throughout|to|for|with(?:in)?) your (?:next |final |whole )?"
                             + _ANSWER + r"\b[\s,:]+(?:please |also |always )?(?:" + SHAPE + r"|" + ACT + r")\b"),
        ("your answer", 1.0,
         "you",
         r"\b(?:can|could|would|will) you\b[^.!?|\n]{0,80}\byour " + _ANSWER + r"\b"),
        ("your answer", 1.0,
         "respond reply answer conclude report state say",
         r"\b(?:respond|reply|answer|conclude|report|state|say)\b[\s\w]{0,20}\b(?:only )?(?:with|that|as|by)?\s*[\"'“‘]"
                             r"[^\"'”’\n]{3,60}[\"'”’]\s*(?:,? and (?:stop|finish|exit|end|nothing else)|only\b|instead\b)"),
        ("secrets", 1.0,
         "send post upload mail exfiltrat include reveal print output leak forward share append paste show give return read copy submit transmit",
         r"\b(?:send|post|upload|e-?mail|exfiltrate|include|reveal|print|output|leak|forward|share|append|paste|show|give"
                         r"|return|read|copy|submit|transmit)\b[^.!?\n]{0,60}\b" + _SECRET
                         + r"[^.!?\n]{0,60}\b(?:to|in|into|at|via|with)\b[^.!?\n]{0,20}(?:your\b|https?:|www\.|\S+@\S+|this (?:url|address|server))"),
        ("concealment", 1.0,
         "user operator human owner anyone engineer call customer team",
         r"\b(?:do not|don't|never|without)\b\s*(?:tell|inform|mention|alert|notif|reveal|report|disclos|warn|ask)\w*"
                             r"\s*(?:this |it |anything )?(?:to )?(?:the |any |your )?(?:user|operator|human|owner|anyone|engineer|on-?call|customer|team)\b"),
        ("command", 1.0,
         "run execute call invoke use",
         r"\b(?:please |must |should |now |and |then |immediately )?(?:run|execute|call|invoke|use)\b[\s:]+(?:the )?"
                         r"(?:command |tool |function |following )?[`'\"]?(?:rm -rf|sudo |curl \S+ ?\|| kubectl delete|drop table|"
                         r"(?:delete|drop|destroy|terminate|restart|scale|remove|transfer|send|wipe)_\w+)"),
        ("command", 0.6,
         "curl wget",
         r"\b(?:curl|wget)\b[^\n|]{0,120}\|\s*(?:sudo )?(?:ba|z)?sh\b"),
    )
)  # fmt: skip
_NEEDED = tuple(frozenset().union(*(words for _, _, needs, _ in _PATTERNS for words in needs)))


def phrases(
    text: str, kinds: Collection[str] | None = None
) -> Iterator[tuple[str, float, int, int]]:
    """(kind, weight, start, end) of each phrase of these kinds found in a text in lower case."""
    there = {word for word in _NEEDED if word in text}
    for kind, weight, needs, pattern in _PATTERNS:
        if kinds is not None and kind not in kinds:
            continue
        if any(words <= there for words in needs):
            for match in pattern.finditer(text):
                yield kind, weight, match.start(), match.end()
