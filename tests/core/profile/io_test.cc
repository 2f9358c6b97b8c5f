// Writing profiles: atomic, in pairs, and harmless when it fails.
#include "profile/text/io.h"

#include <gtest/gtest.h>

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <initializer_list>

#include "discover/machine.h"
#include "folder.h"
#include "profile/text/error.h"

using namespace smelt;
using smelt::test::Folder;

namespace {

ProfileImage image_with(float hop, const char* description = "core:4 pu:1") {
  ProfileImage image = guess_image(machine_from_synthetic(description));
  for (float& each : image.hop)
    if (each > 0) each = hop;
  image.header.pairs_measured = 12;
  return image;
}

// The hop of a pair of files that belong together, or -1.
float hop_of_pair(const Folder& folder, const std::string& directory = "") {
  const std::string prefix = directory.empty() ? "" : directory + "/";
  Profile profile;
  Refusal why;
  if (load_profile_file(folder.path(prefix + "m.profile").c_str(), 0, &profile, &why) != 0) return -1;
  const ProfileImage packed = image_from_profile(profile);
  unload_profile(&profile);
  const ProfileImage json = profile_from_json(folder.read(prefix + "m.json"), "m.json");
  return json.pack() == packed.pack() ? packed.hop[1] : -1;
}

size_t files_in(const std::string& directory) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory)) ++count;
  return count;
}

TEST(WriteProfile, MakesDirectoriesAndLeavesNothingElse) {
  const Folder folder;
  ::umask(0);  // the modes must not depend on it
  const WrittenProfile written = write_profile(image_with(11), folder.path("a/b/m.profile"));
  EXPECT_EQ(written.packed, folder.path("a/b/m.profile"));
  EXPECT_EQ(written.json, folder.path("a/b/m.json"));
  EXPECT_EQ(hop_of_pair(folder, "a/b"), 11);
  EXPECT_EQ(files_in(folder.path("a/b")), 3u) << "two forms and the lock";
  struct stat status {};
  ASSERT_EQ(::stat(folder.path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
  write_profile(image_with(12), folder.path("a/b/m.profile"));
  EXPECT_EQ(hop_of_pair(folder, "a/b"), 12);
  EXPECT_EQ(files_in(folder.path("a/b")), 3u);
}

TEST(WriteProfile, SharedOneIsReadableByAll) {
  const Folder folder;
  ::umask(077);
  write_profile(image_with(1), folder.path("s/m.profile"), true);
  struct stat status {};
  ASSERT_EQ(::stat(folder.path("s/m.profile").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0644u);
  ASSERT_EQ(::stat(folder.path("s").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0755u);
  ::umask(022);
}

TEST(WriteProfile, RefusesWhatItCannotWrite) {
  const Folder folder;
  EXPECT_THROW(write_profile(image_with(1), folder.path("m.json")), UserError);
  folder.write("file", "");
  EXPECT_THROW(write_profile(image_with(1), folder.path("file/m.profile")), UserError);
  EXPECT_THROW(write_profile(image_with(1), "/proc/smelt/m.profile"), UserError);
  ASSERT_EQ(::symlink("/etc/passwd", folder.path("lock").c_str()), 0);
  EXPECT_THROW(write_profile(image_with(1), folder.path("m.profile")), UserError) << "the lock is not to be followed";
}

TEST(WriteProfile, TwoWritersAtOnceLeaveAPairOfOneOfThem) {
  const Folder folder;
  const std::string path = folder.path("m.profile");
  write_profile(image_with(99, "core:64 pu:1"), path);
  pid_t writers[2];
  for (int which = 0; which < 2; ++which) {
    writers[which] = ::fork();
    if (writers[which] != 0) continue;
    try {
      for (int i = 0; i < 40; ++i) write_profile(image_with(static_cast<float>(1 + which), "core:64 pu:1"), path);
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  // Meanwhile a reader finds a whole profile of one of them at every moment, packed and as JSON.
  for (int i = 0; i < 200; ++i) {
    Profile profile;
    Refusal why;
    ASSERT_EQ(load_profile_file(path.c_str(), 0, &profile, &why), 0) << why.text;
    const ProfileImage packed = image_from_profile(profile);
    unload_profile(&profile);
    const ProfileImage json = i % 10 ? packed : profile_from_json(folder.read("m.json"), "m.json");
    for (const ProfileImage* image : {&packed, &json}) {
      const float hop = image->hop[1];
      EXPECT_TRUE(hop == 1 || hop == 2 || hop == 99) << hop;
      for (uint32_t a = 0; a < image->n(); ++a)
        for (uint32_t b = 0; b < image->n(); ++b) ASSERT_EQ(image->hop[a * image->n() + b], a == b ? 0 : hop);
    }
  }
  for (pid_t writer : writers) {
    int status = -1;
    ASSERT_EQ(::waitpid(writer, &status, 0), writer);
    EXPECT_EQ(status, 0);
  }
  const float hop = hop_of_pair(folder);
  EXPECT_TRUE(hop == 1 || hop == 2) << hop;
  EXPECT_EQ(files_in(folder.path()), 3u);
}

// A file-size limit makes write(2) fail half-way, as a full disk does; everybody may set one.
TEST(WriteProfile, FailingHalfWayKeepsTheOldPair) {
  const Folder folder;
  const std::string path = folder.path("m.profile");
  write_profile(image_with(5), path);
  EXPECT_EXIT(
      {
        std::signal(SIGXFSZ, SIG_IGN);
        rlimit limit;
        limit.rlim_cur = limit.rlim_max = 20'000;
        ::setrlimit(RLIMIT_FSIZE, &limit);
        try {
          write_profile(image_with(6, "core:64 pu:1"), path);
        } catch (const UserError& error) {
          ::_exit(std::string_view(error.what()).find("unchanged") != std::string_view::npos ? 0 : 2);
        }
        ::_exit(1);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EQ(hop_of_pair(folder), 5);
  EXPECT_EQ(files_in(folder.path()), 3u) << "no draft is left behind";
}

TEST(WriteProfile, FullDiskKeepsTheOldPair) {
  const Folder folder;
  const std::string disk = folder.path("disk");
  ASSERT_EQ(::mkdir(disk.c_str(), 0700), 0);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=48k") != 0)
    GTEST_SKIP() << "a small file system cannot be mounted here (needs root)";
  struct Unmount {
    const std::string& disk;
    ~Unmount() { ::umount2(disk.c_str(), MNT_DETACH); }
  } unmount{disk};
  const std::string path = disk + "/m.profile";
  write_profile(image_with(5), path);
  try {
    write_profile(image_with(6, "core:64 pu:1"), path);
    ADD_FAILURE() << "it fitted";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("No space left"), std::string::npos) << error.what();
  }
  EXPECT_EQ(hop_of_pair(folder, "disk"), 5);
  EXPECT_EQ(files_in(disk), 3u);
}

// In a child, so that its mounts and its user are its own. 0: the error says all of `says`.
int refusal_of(const std::string& path, bool shared, std::initializer_list<const char*> says) {
  for (const auto& write : {+[](const std::string&where, bool all) { write_profile(image_with(6), where, all); },
                            +[](const std::string&where, bool all) { prepare_profile_place(where, all); }}) {
    try {
      write(path, shared);
      return 1;
    } catch (const UserError& error) {
      const std::string what = error.what();
      for (const char* part : says)
        if (what.find(part) == what.npos) {
          std::fprintf(stderr, "\"%s\" is missing in: %s\n", part, what.c_str());
          return 2;
        }
    }
  }
  return 0;
}

TEST(WriteProfile, ReadOnlyFileSystemKeepsTheOldPair) {
  const Folder folder;
  const std::string path = folder.path("m.profile");
  write_profile(image_with(5), path);
  EXPECT_EXIT(
      {
        // Bound to itself, and that read-only.
        if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount(folder.path().c_str(), folder.path().c_str(), nullptr, MS_BIND, nullptr) != 0 ||
            ::mount(nullptr, folder.path().c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0) {
          std::fprintf(stderr, "not permitted here\n");
          ::_exit(0);
        }
        const int own = refusal_of(path, false, {"Read-only file system", "unchanged"});
        ::_exit(own ? own : refusal_of(path, true, {"Read-only file system", "needs no --system"}));
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EQ(hop_of_pair(folder), 5);
  EXPECT_EQ(files_in(folder.path()), 3u);
}

TEST(WriteProfile, SomebodyElsesFolderIsToldForWhatItIs) {
  const Folder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  const std::string path = folder.path("m.profile");
  write_profile(image_with(5), path);
  if (::geteuid() != 0) {
    ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
    EXPECT_EQ(refusal_of(path, true, {"Permission denied", "the system's profile is root's to write"}), 0);
    ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  } else {
    EXPECT_EXIT(
        {
          if (::setresuid(65534, 65534, 65534) != 0) ::_exit(3);
          const int own = refusal_of(path, false, {"Permission denied", "unchanged"});
          ::_exit(own ? own : refusal_of(path, true, {"Permission denied", "the system's profile is root's to write"}));
        },
        testing::ExitedWithCode(0), "");
  }
  EXPECT_EQ(hop_of_pair(folder), 5);
}

TEST(DefaultPath, OfServicesWithoutAHomeIsRefusedInOneLine) {
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", "/dev/null", 1);
  EXPECT_EQ(refusal_of(default_profile_path(), false, {"/dev/null", "Not a directory", "unchanged"}), 0);
  Profile profile;
  Refusal why;
  ASSERT_EQ(load_profile(&profile, &why), 0);
  EXPECT_STREQ(why.text, "") << "reading it is no reason to complain";
  unload_profile(&profile);
}

TEST(DefaultPath, NeedsAHome) {
  ::setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_TRUE(default_profile_path().starts_with("/cache/smelt/"));
  ::unsetenv("XDG_CACHE_HOME");
  ::unsetenv("HOME");
  EXPECT_THROW(default_profile_path(), UserError);
}

}  // namespace
