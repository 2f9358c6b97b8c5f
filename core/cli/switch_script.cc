#include "cli/switch_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/options.h"

namespace smelt {
namespace {

using Words = std::vector<std::string>;

// Every command ends with a semicolon, so that eval $(smelt env), without quotes, works as well. Names that begin with
// smelt_ are gone at the end.
//
// 0: the variable, 1: Smelt's entries in it, 2: what ends an entry (a pattern; for fish, its characters), 3: commands
// for where an entry was found.
constexpr const char* kTakeAway[] = {
    R"(for smelt_one in {1}; do
while case ":${{{0}-}}:" in *{2}"$smelt_one"{2}*) ;; *) false ;; esac; do
smelt_all=":${0}:";
{0}="${{smelt_all%%{2}"$smelt_one"{2}*}}:${{smelt_all#*{2}"$smelt_one"{2}}}";
{0}="${{{0}#:}}"; {0}="${{{0}%:}}";{3}
done; done;
[ -n "${{{0}-}}" ] || unset {0};
)",
    R"(for smelt_one in {1};
set -l smelt_all (string match -ar '[^{2}]+' -- "${0}");
if contains -- $smelt_one $smelt_all;
set -gx {0} (string join : -- (string match -rv -- '^'(string escape --style=regex -- $smelt_one)'$' $smelt_all));{3}
end; end;
test -n "${0}"; or set -e {0};
)"};

// The names of the variables of --fit, --bind and --networks are in _SMELT_SET. _SMELT_OLD_NAME has what NAME was set
// to and, behind a "=", what it had been.
constexpr const char* kKeep[] = {
    R"(case " ${{_SMELT_SET-}} " in *" {0} "*) ;;
*) export _SMELT_SET="${{_SMELT_SET-}} {0}" _SMELT_OLD_{0}="=${{{0}-}}" ;; esac;
export _SMELT_OLD_{0}={1}="${{_SMELT_OLD_{0}#*=}}" {0}={1};
)",
    R"(contains -- {0} (string split ' ' -- "$_SMELT_SET");
or begin; set -gx _SMELT_SET "$_SMELT_SET {0}"; set -gx _SMELT_OLD_{0} "=${0}"; end;
set -gx _SMELT_OLD_{0} {1}=(string replace -r '^[^=]*=' '' -- "$_SMELT_OLD_{0}"); set -gx {0} {1};
)"};
constexpr const char* kPutBack[] = {
    R"(for smelt_one in $(echo "${_SMELT_SET-}"); do
eval "smelt_all=\"\${_SMELT_OLD_$smelt_one-}\"; case \"\$smelt_all\" in
\"\${$smelt_one-}=\") unset $smelt_one ;;
\"\${$smelt_one-}=\"*) export $smelt_one=\"\${smelt_all#*=}\" ;; esac; unset _SMELT_OLD_$smelt_one";
done;
unset _SMELT_SET;
)",
    R"(for smelt_one in (string split -n ' ' -- "$_SMELT_SET");
set -l smelt_old _SMELT_OLD_$smelt_one; set -l smelt_all (string split -m 1 = -- "$$smelt_old");
if test "$$smelt_one" = "$smelt_all[1]";
test -n "$smelt_all[2]"; and set -gx $smelt_one $smelt_all[2]; or set -e $smelt_one;
end; set -e $smelt_old; end;
set -e _SMELT_SET;
)"};

// A word for fish, which knows two escapes between single quotes.
std::string fish_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

std::string here(const char* variable) {
  const char* const value = environment(variable);
  return value ? value : "";
}

Words unique(const Words& words) {
  Words out;
  for (const std::string& one : words)
    if (!one.empty() && std::find(out.begin(), out.end(), one) == out.end()) out.push_back(one);
  return out;
}

class Script {
 public:
  Script(const LaunchParts& parts, Shell shell) : parts_(parts), fish_(shell == Shell::kFish) {}

  std::string off() {
    take_away_shims();
    take_away_components(true);
    text_ += kPutBack[fish_];
    forget();
    return text_;
  }

  std::string on() {
    take_away_shims();
    take_away_components(!parts_.messages.empty());
    forget();
    if (!parts_.shims.empty()) {
      // AddressSanitizer's runtime ends a program that loads another library before it.
      add(R"(case "${{LD_PRELOAD-}}" in *libasan.so*|*libclang_rt.asan*) LD_PRELOAD="$LD_PRELOAD":{0} ;;
*) LD_PRELOAD={0}"${{LD_PRELOAD:+:$LD_PRELOAD}}" ;; esac; export LD_PRELOAD;
)",
          R"(if string match -qr 'libasan\.so|libclang_rt\.asan' -- "$LD_PRELOAD"; set -gx LD_PRELOAD "$LD_PRELOAD":{0};
else; set -gx LD_PRELOAD (string join : -- {0} $LD_PRELOAD); end;
)",
          word(parts_.shims));
    }
    add_components();
    for (const EnvironmentChange& change : parts_.more) keep(change.name, change.value.value_or(""));
    return text_;
  }

 private:
  std::string word(const std::string& text) const { return fish_ ? fish_word(text) : shell_word(text); }

  void forget() { add("unset smelt_one smelt_all;\n", "set -e smelt_one;\n"); }

  template <typename... Values>
  void add(const char* posix, const char* fish, const Values&... values) {
    text_ += fmt::format(fmt::runtime(fish_ ? fish : posix), values...);
  }

  void take_away(const char* variable, const Words& entries, const char* posix_ends, const char* ends,
                 const std::string& then) {
    std::string words;
    for (const std::string& entry : entries) words += (words.empty() ? "" : " ") + word(entry);
    if (!words.empty())
      add(kTakeAway[0], kTakeAway[1], variable, words, fish_ ? ends : posix_ends, then.empty() ? "" : "\n" + then);
  }

  void take_away_shims() {
    Words ours = entries_of(parts_.shims, ":");
    for (const std::string& entry : entries_of(here("LD_PRELOAD"), ": "))
      if (preload_value(entry.c_str(), "", "").empty()) ours.push_back(entry);
    take_away("LD_PRELOAD", unique(ours), "[:\\ ]", ": ", "");
  }

  // All: those for messages as well, and the settings that they brought.
  void take_away_components(bool all) {
    Words ours = {parts_.component, parts_.messages};
    for (const std::string& folder : entries_of(here(kComponentPath), ":"))
      if (without_components(folder, all).empty()) ours.push_back(folder);
    std::string settings;
    if (all)
      for (const auto& [variable, value] :
           {std::pair{kComponentPath, kOpenMpisOwn}, {kPmixPath, kNoFolder}, {kPriority, kUsed}, {kMessages, kEnabled}})
        settings += fmt::format(fmt::runtime(fish_ ? "test \"${0}\" = {1}; and set -e {0}; "
                                                   : "case \"${{{0}-}}\" in {1}) unset {0} ;; esac; "),
                                variable, value);
    take_away(kComponentPath, unique(ours), ":", ":", settings);
  }

  void add_components() {
    std::string folders;
    for (const std::string& folder : unique({parts_.component, parts_.messages})) folders += folder + ":";
    if (folders.empty()) return;
    add("export {0}={1}\"${{{0}:-{2}}}\";\n", "test -n \"${0}\"; or set {0} {2}; set -gx {0} {1}\"${0}\";\n",
        kComponentPath, word(folders), kOpenMpisOwn);
    if (pmix_would_warn()) unless_set(kPmixPath, kPmixPath, kNoFolder);
    if (!parts_.component.empty()) unless_set(kPriority, "SMELT_PRIORITY", kUsed);
    if (!parts_.messages.empty()) unless_set(kMessages, kMessages, kEnabled);
  }

  void unless_set(const char* variable, const char* other, const char* value) {
    add("[ -n \"${{{0}-}}${{{1}-}}\" ] || export {0}={2};\n", "test -n \"${0}${1}\"; or set -gx {0} {2};\n", variable,
        other, value);
  }

  void keep(const std::string& variable, const std::string& value) { add(kKeep[0], kKeep[1], variable, word(value)); }

  const LaunchParts& parts_;
  const bool fish_;
  std::string text_;
};

}  // namespace

std::string switch_on_script(const LaunchParts& parts, Shell shell) { return Script(parts, shell).on(); }
std::string switch_off_script(const LaunchParts& parts, Shell shell) { return Script(parts, shell).off(); }

}  // namespace smelt
