#include "harness/completions.h"

#include "sim/types/error.h"

namespace tilecheck {
namespace {

// What completes a word that is no option: names that the command itself lists.
std::string words_of(const std::string& command) {
  if (command == "run" || command == "check" || command == "fit" || command == "sweep" || command == "list")
    return "$(tilecheck list --names 2>/dev/null)";
  if (command == "explain") return "$(tilecheck explain --names 2>/dev/null)";
  if (command == "completions") return "bash zsh fish";
  return "";
}

std::string single_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string bash(std::span<const CompletedCommand> commands) {
  std::string names;
  for (const CompletedCommand& c : commands) names += (names.empty() ? "" : " ") + c.name;
  std::string out =
      "# tilecheck completions for bash:   source <(tilecheck completions bash)\n_tilecheck() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then COMPREPLY=($(compgen -W \"" +
      names +
      " --help --version\" -- \"$word\")); return; fi\n"
      "  case $before in\n"
      "    --target) COMPREPLY=($(compgen -W \"v2 v3 v4 v5e v5p v6e v7x all\" -- \"$word\")); return ;;\n"
      "    --output-format) COMPREPLY=($(compgen -W \"text short json junit sarif github\" -- \"$word\")); return ;;\n"
      "    --select|--ignore) COMPREPLY=($(compgen -W \"$(tilecheck explain --names 2>/dev/null)\" -- \"$word\")); "
      "return ;;\n"
      "    --json|--out|--in|--expect|--baseline|--write-baseline|--csv|--markdown) COMPREPLY=($(compgen -f -- "
      "\"$word\")); return ;;\n"
      "  esac\n  local options= words=\n  case ${COMP_WORDS[1]} in\n";
  for (const CompletedCommand& c : commands) {
    out += "    " + c.name + ") options=\"";
    for (size_t i = 0; i < c.options.size(); ++i) out += (i ? " " : "") + c.options[i].name;
    out += "\" words=\"" + words_of(c.name) + "\" ;;\n";
  }
  return out +
         "  esac\n"
         "  if [[ $word == -* ]]; then COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
         "  else COMPREPLY=($(compgen -W \"$words\" -- \"$word\") $(compgen -f -- \"$word\")); fi\n"
         "}\ncomplete -o filenames -F _tilecheck tilecheck\n";
}

std::string zsh(std::span<const CompletedCommand> commands) {
  std::string out =
      "#compdef tilecheck\n# tilecheck completions for zsh:   tilecheck completions zsh > ~/.zfunc/_tilecheck\n"
      "_tilecheck() {\n  local -a commands\n  commands=(\n";
  const auto escaped = [](std::string text) {
    for (size_t at = 0; (at = text.find_first_of(":[]", at)) != std::string::npos; at += 2) text.insert(at, "\\");
    return text;
  };
  for (const CompletedCommand& c : commands) out += "    " + single_quoted(c.name + ":" + escaped(c.what)) + "\n";
  out += "  )\n  if (( CURRENT == 2 )); then _describe command commands; return; fi\n  case $words[2] in\n";
  for (const CompletedCommand& c : commands) {
    out += "    " + c.name + ") _arguments";
    for (const CompletedOption& o : c.options)
      out += " \\\n      " +
             single_quoted("*" + o.name + "[" + escaped(o.what) + "]" + (o.takes_value ? ":value:_files" : ""));
    const std::string words = words_of(c.name);
    out += " \\\n      \"*:subject:_alternative 'words:word:(" + words + ")' 'files:file:_files'\" ;;\n";
  }
  return out + "  esac\n}\n_tilecheck \"$@\"\n";
}

std::string fish(std::span<const CompletedCommand> commands) {
  std::string out =
      "# tilecheck completions for fish:   tilecheck completions fish > ~/.config/fish/completions/tilecheck.fish\n";
  for (const CompletedCommand& c : commands)
    out += "complete -c tilecheck -n __fish_use_subcommand -a " + c.name + " -d " + single_quoted(c.what) + "\n";
  for (const CompletedCommand& c : commands) {
    const std::string seen = " -n '__fish_seen_subcommand_from " + c.name + "'";
    for (const CompletedOption& o : c.options)
      out += "complete -c tilecheck" + seen + " -l " + o.name.substr(2) + (o.takes_value ? " -r" : "") + " -d " +
             single_quoted(o.what) + "\n";
    std::string words = words_of(c.name);
    if (words.starts_with("$(")) words = words.substr(1);
    if (!words.empty()) out += "complete -c tilecheck" + seen + " -a \"" + words + "\"\n";
  }
  return out;
}

}  // namespace

std::string completions(const std::string& shell, std::span<const CompletedCommand> commands) {
  if (shell == "bash") return bash(commands);
  if (shell == "zsh") return zsh(commands);
  if (shell == "fish") return fish(commands);
  throw InputError("completions", "'" + shell.substr(0, 40) + "' given, expected one of bash, zsh, fish");
}

}  // namespace tilecheck
