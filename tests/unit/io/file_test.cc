#include "sim/io/file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include "sim/types/error.h"
#include "tests/unit/io/temp_dir.h"

namespace tilecheck {
namespace {

TEST(Files, WriteReplacesWholeAndLeavesNothingElse) {
  const TempDir dir;
  write_file(dir / "a", "one");
  write_file(dir / "a", "two!");
  EXPECT_EQ(read_file(dir / "a"), "two!");
  EXPECT_EQ(dir.count_entries(), 1);
}

TEST(Files, WriteThroughALinkKeepsTheLink) {
  const TempDir dir;
  write_file(dir / "real", "old");
  std::filesystem::create_symlink(dir / "real", dir / "link");
  write_file(dir / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
  EXPECT_EQ(read_file(dir / "real"), "new");
}

TEST(Files, FailedWriteKeepsWhatWasThere) {
  const TempDir dir;
  write_file(dir / "a", "old");
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 1000;
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(write_file(dir / "a", std::string(5000, 'x')), InputError);
  EXPECT_THROW(write_file(dir / "b", std::string(5000, 'x')), InputError);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, SIG_DFL);
  EXPECT_EQ(read_file(dir / "a"), "old");
  EXPECT_EQ(dir.count_entries(), 1);
}

TEST(Files, ChecksLeaveNothingBehind) {
  const TempDir dir;
  write_file(dir / "a", "old");
  check_writable(dir / "a");
  check_writable(dir / "b");
  check_writable_folder(dir / "new/folder");
  check_writable_folder(dir / "");
  check_writable("/dev/null");
  EXPECT_EQ(read_file(dir / "a"), "old");
  EXPECT_EQ(dir.count_entries(), 1);
  EXPECT_THROW(check_writable(dir / "no/such/dir"), InputError);
  EXPECT_THROW(check_writable(dir / ""), InputError);
  EXPECT_THROW(check_writable("/proc/none/file"), InputError);
  EXPECT_THROW(check_writable_folder(dir / "a"), InputError);
  EXPECT_THROW(check_writable_folder(dir / "a/b"), InputError);
  EXPECT_THROW(check_writable_folder("/proc/none"), InputError);
}

TEST(Files, PlacesThatCannotBeWritten) {
  const TempDir dir;
  EXPECT_THROW(write_file(dir / "no/such/dir", "x"), InputError);
  EXPECT_THROW(write_file(dir / "", "x"), InputError);
  write_file("/dev/null", "x");  // written to, not replaced
  EXPECT_FALSE(std::filesystem::is_regular_file("/dev/null"));
  EXPECT_EQ(dir.count_entries(), 0);
}

TEST(Files, ReadRefusesMoreThanItsLimit) {
  const TempDir dir;
  write_file(dir / "a", "12345");
  EXPECT_EQ(read_file(dir / "a", 5), "12345");
  EXPECT_THROW(read_file(dir / "a", 4), InputError);
}

}  // namespace
}  // namespace tilecheck
