// Numbers of the instruction kinds and flags; the table in native/format/facts.md.
#pragma once

namespace leakline {

enum Op {
    kAlloca = 0,
    kLoad,
    kStore,
    kAddress,
    kCompare,
    kPhi,
    kSelect,
    kBinary,
    kCast,
    kCall,
    kBranch,
    kJump,
    kSwitch,
    kReturn,
    kUnreachable,
    kInvoke,
    kLandingPad,
    kResume,
    kAsm,
    kCopy,
    kFill,
    kVariadic,
    kExtract,
    kInsert,
    kAtomic,
    kAssume,
    kGoto,
    kOther,
};

enum AccessFlag { kVolatile = 1, kAtomicAccess = 2, kOverlap = 4 };

enum CallFlag {
    kNoReturn = 1,
    kReturnsTwice = 2,
    kNoThrow = 4,
    kFresh = 8,
    kNonNull = 16,
    kByVal = 32,
};

enum AsmFlag { kSideEffects = 1, kWritesMemory = 2, kNoInstructions = 4 };

enum ParameterFlag {
    kNonNullParameter = 1,
    kByValParameter = 2,
    kSretParameter = 4,
    kNoEscape = 8,
    kReadOnly = 16,
};

} // namespace leakline
